'use strict'
// vscode-jsonrpc frames messages with Content-Length headers.

const net = require('net')
const rpc = require('vscode-jsonrpc/node')
const { run, failure, once } = require('./lib')
const { common } = require('./checks')

run(async ({ port }) => {
  const socket = net.connect({ port, host: '127.0.0.1' })
  await once(socket, 'connect')
  const connection = rpc.createMessageConnection(new rpc.SocketMessageReader(socket), new rpc.SocketMessageWriter(socket))
  const trouble = []
  connection.onError(([err]) => trouble.push(String(err)))
  connection.onUnhandledNotification((message) => trouble.push(message.method))
  connection.listen()

  // Arguments become the elements of params, a single object becomes params.
  const spread = (params) => Array.isArray(params) ? params : [params]
  const call = (method, params) => connection.sendRequest(method, ...spread(params))
  const notify = (method, params) => connection.sendNotification(method, ...spread(params))
  const results = await common({ call, notify })

  const source = new rpc.CancellationTokenSource()
  const blocked = connection.sendRequest('block', source.token)
  await call('began', [])
  source.cancel()
  results.cancelled = (await failure(blocked)).code
  results.afterCancel = await call('sum', [1, 2])
  results.trouble = trouble
  connection.end()
  return results
})
