'use strict'
// The clients that pages in browsers have, connect-web's for Connect and for
// gRPC-Web, and connect-node's for both.

const { createClient, ConnectError, Code } = require('@connectrpc/connect')
const web = require('@connectrpc/connect-web')
const node = require('@connectrpc/connect-node')
const { run } = require('./lib')
const { notes } = require('./connect')

const transports = {
  'web connect': (options) => web.createConnectTransport(options),
  'web grpc-web': (options) => web.createGrpcWebTransport(options),
  'node connect': (options) => node.createConnectTransport({ httpVersion: '2', ...options }),
  'node grpc-web': (options) => node.createGrpcWebTransport({ httpVersion: '2', ...options })
}

run(async ({ transport, json, get, port, descriptors }) => {
  const client = createClient(notes(descriptors), transports[transport]({
    baseUrl: `http://127.0.0.1:${port}`, useBinaryFormat: !json, useHttpGet: get
  }))
  const results = {}
  let header, trailer
  const options = {
    headers: { 'x-in': 'in' },
    onHeader: (h) => { header = h.get('x-out') },
    onTrailer: (h) => { trailer = h.get('x-end') }
  }
  const reply = await client.echo({ text: 'ü', size: 9007199254740993n }, options)
  results.echo = [reply.text, String(reply.size)]
  results.metadata = [header, trailer]
  results.read = (await client.read({ text: 'r' })).text
  const all = []
  for await (const message of client.repeat({ text: 'a', size: 3n })) all.push(message.text)
  results.repeat = all
  const failed = async (call) => {
    try {
      await call()
      return 'no error'
    } catch (err) {
      const e = ConnectError.from(err)
      return [Code[e.code], e.rawMessage, e.details.map((d) => d.type)]
    }
  }
  results.fail = await failed(() => client.fail({ text: 'no such ü', size: 5n }))
  results.failLater = await failed(async () => {
    for await (const message of client.repeat({ text: 'b', size: -1n })) results.beforeFailure = message.text
  })
  results.late = (await failed(() => client.wait({}, { timeoutMs: 50 })))[0]
  if (transport.startsWith('node')) {
    const talked = []
    for await (const message of client.talk((async function * () { yield { text: '1' }; yield { text: '2' } })())) talked.push(message.text)
    results.talk = talked
  }
  return results
})
