'use strict'
// vscode-jsonrpc as a server: a method called block runs until it is cancelled,
// cancelled says how often that happened, and ask calls sum at the client.

const net = require('net')
const rpc = require('vscode-jsonrpc/node')
const { serve } = require('./lib')
const methods = require('./methods')

let cancelled = 0

serve(net.createServer((socket) => {
  const connection = rpc.createMessageConnection(new rpc.SocketMessageReader(socket), new rpc.SocketMessageWriter(socket))
  for (const [name, method] of Object.entries(methods)) {
    const handler = async (...args) => {
      args.pop() // the cancellation token, or undefined
      try {
        return await method(args)
      } catch ({ code, message, data }) {
        return new rpc.ResponseError(code, message, data)
      }
    }
    if (name === 'note') connection.onNotification(name, (...args) => handler(...args, undefined))
    else connection.onRequest(name, handler)
  }
  connection.onRequest('block', (token) => new Promise((resolve) => {
    token.onCancellationRequested(() => {
      cancelled++
      resolve(new rpc.ResponseError(-32800, 'cancelled'))
    })
  }))
  connection.onRequest('cancelled', () => cancelled)
  connection.onRequest('ask', (numbers) => connection.sendRequest('sum', ...numbers))
  connection.listen()
}))
