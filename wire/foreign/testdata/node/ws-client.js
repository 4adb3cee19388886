'use strict'
// json-rpc-2.0 over the WebSockets of ws, which offers compression and, if told
// so, sends each message in fragments.

const fs = require('fs')
const WebSocket = require('ws')
const { JSONRPCClient } = require('json-rpc-2.0')
const { run, once } = require('./lib')
const { common } = require('./checks')

run(async ({ port, path, ca, fragments }) => {
  const url = `${ca ? 'wss' : 'ws'}://127.0.0.1:${port}${path}`
  const options = { ca: ca && fs.readFileSync(ca) }
  const socket = new WebSocket(url, ['jsonrpc'], options)
  let trouble = 0
  const client = new JSONRPCClient(async (request) => {
    const text = JSON.stringify(request)
    if (!fragments) return socket.send(text)
    const bytes = Buffer.from(text)
    const size = Math.ceil(bytes.length / 3)
    for (let i = 0; i < 3; i++) {
      // binary would be as good; a text must begin as one
      socket.send(bytes.subarray(i * size, (i + 1) * size), { binary: false, fin: i === 2 })
      if (i === 1) socket.ping('between')
    }
  })
  socket.on('message', (data, isBinary) => {
    if (isBinary) trouble++
    client.receive(JSON.parse(data))
  })
  await once(socket, 'open')
  const results = await common({
    call: (method, params) => client.request(method, params),
    notify: async (method, params) => client.notify(method, params)
  })
  results.protocol = socket.protocol
  results.extensions = socket.extensions
  const pong = once(socket, 'pong')
  if (!fragments) socket.ping('are you there?')
  await pong
  const closed = new Promise((resolve) => socket.on('close', (code) => resolve(code)))
  socket.close(4000, 'enough')
  results.closed = await closed
  results.trouble = trouble

  // Where there is nothing, and where a page of another site would come from.
  results.refused = []
  for (const [at, origin] of [[url + 'x', undefined], [url, 'https://evil.example'], [url, 'https://good.example']]) {
    const other = new WebSocket(at, { ...options, origin })
    results.refused.push(await new Promise((resolve) => {
      other.on('unexpected-response', (request, response) => { request.destroy(); resolve(response.statusCode) })
      other.on('error', () => {})
      other.on('open', () => { other.terminate(); resolve(101) })
    }))
  }
  return results
})
