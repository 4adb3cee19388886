'use strict'
// A client whose server calls it: ask calls twice at this end.

const net = require('net')
const rpc = require('vscode-jsonrpc/node')
const { run, failure, once } = require('./lib')

run(async ({ port }) => {
  const socket = net.connect({ port, host: '127.0.0.1' })
  await once(socket, 'connect')
  const connection = rpc.createMessageConnection(new rpc.SocketMessageReader(socket), new rpc.SocketMessageWriter(socket))
  connection.onRequest('twice', (n) => 2 * n)
  connection.listen()
  const results = { asked: await connection.sendRequest('ask', 21) }
  connection.onRequest('twice', () => new rpc.ResponseError(rpc.ErrorCodes.MethodNotFound, 'gone'))
  results.unknown = (await failure(connection.sendRequest('ask', 21))).code
  connection.end()
  return results
})
