'use strict'
// json-rpc-2.0 leaves sending and receiving to its user: here lines over TCP,
// and POST with fetch.

const net = require('net')
const readline = require('readline')
const { JSONRPCClient, createJSONRPCRequest, createJSONRPCNotification } = require('json-rpc-2.0')
const { run, once } = require('./lib')
const { common } = require('./checks')

async function lines (port) {
  const socket = net.connect({ port, host: '127.0.0.1' })
  const client = new JSONRPCClient(async (request) => { socket.write(JSON.stringify(request) + '\n') })
  readline.createInterface({ input: socket }).on('line', (line) => client.receive(JSON.parse(line)))
  await once(socket, 'connect')
  return client
}

function web (port) {
  const client = new JSONRPCClient(async (request) => {
    const response = await fetch(`http://127.0.0.1:${port}/rpc`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(request)
    })
    if (response.status === 200) client.receive(await response.json())
    else if (response.status !== 204) throw new Error(response.statusText)
  })
  return client
}

run(async ({ transport, port }) => {
  const client = await { tcp: lines, http: web }[transport](port)
  const results = await common({
    call: (method, params) => client.request(method, params),
    notify: async (method, params) => client.notify(method, params)
  })
  const batch = await client.requestAdvanced([
    createJSONRPCRequest('one', 'sum', [1, 2]),
    createJSONRPCRequest('two', 'nope', []),
    createJSONRPCNotification('note', ['in a batch']),
    createJSONRPCRequest(0, 'subtract', [5, 3])
  ])
  results.batch = batch.map(({ id, result, error }) => [id, error ? error.code : result])
  return results
})
