'use strict'
// Three clients that take whatever one data event brings for one message, and
// find its call by the id: JSON and CRLF over TCP, MessagePack over TCP, and HTTP
// with a connection for every call.

const http = require('http')
const net = require('net')
const msgpack = require('msgpack5')()
const { run, once } = require('./lib')

const json = {
  encode: (message) => JSON.stringify(message) + '\r\n',
  decode: (data) => JSON.parse(data.toString())
}

async function stream (port, codec) {
  const socket = net.connect({ port, host: '127.0.0.1' }).setNoDelay(true)
  const waiting = new Map()
  socket.on('data', (data) => {
    const reply = codec.decode(data)
    waiting.get(reply.id)(reply)
    waiting.delete(reply.id)
  })
  await once(socket, 'connect')
  return {
    send: (message) => new Promise((resolve) => {
      waiting.set(message.id, resolve)
      socket.write(codec.encode(message))
    }),
    close: () => socket.destroy()
  }
}

const web = (port) => ({
  send: (message) => new Promise((resolve, reject) => {
    const body = JSON.stringify(message)
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    const request = http.request({ port, host: '127.0.0.1', method: 'POST', path: '/' + message.method, headers, agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk) => { text += chunk })
      response.on('end', () => {
        const body = JSON.parse(text)
        resolve(response.statusCode === 200 ? body : { status: response.statusCode, body })
      })
    })
    request.on('error', reject)
    request.end(body)
  }),
  close: () => {}
})

run(async ({ wire, port, calls }) => {
  const client = { json: (p) => stream(p, json), msgpack: (p) => stream(p, msgpack), http: web }[wire]
  const { send, close } = await client(port)
  const results = { wrong: 0 }
  for (let id = 1; id <= calls; id++) {
    const [a, b] = [1 + id % 99, 1 + id % 98]
    const reply = await send({ jsonrpc: '2.0', method: 'sum', params: [a, b], id })
    if (reply.result !== a + b) results.wrong++
  }
  results.first = await send({ jsonrpc: '2.0', method: 'sum', params: [20, 21], id: 1 })
  results.stringID = await send({ jsonrpc: '2.0', method: 'sum', params: [20, 21], id: 'ü' })
  results.noParams = await send({ jsonrpc: '2.0', method: 'sum', id: 2 })
  results.largest = await send({ jsonrpc: '2.0', method: 'sum', params: [Number.MAX_SAFE_INTEGER], id: 3 })
  const many = await send({ jsonrpc: '2.0', method: 'sum', params: Array(1 << 19).fill(1), id: 4 }) // 1 MiB of JSON
  results.many = many.result
  results.unknown = await send({ jsonrpc: '2.0', method: 'nope', params: [20, 21], id: 5 })
  const wrong = await send({ jsonrpc: '2.0', method: 'sum', params: ['x'], id: 6 })
  results.wrongParams = wrong.error ? wrong.error.code : wrong.status
  results.inherited = await send({ jsonrpc: '2.0', method: 'toString', params: [20, 21], id: 7 })
  close()
  return results
})
