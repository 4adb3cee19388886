'use strict'
// json-rpc-2.0's server behind the WebSockets of ws, with compression for who
// wants it. Replies come in fragments, with a ping between.

const fs = require('fs')
const http = require('http')
const https = require('https')
const { WebSocketServer } = require('ws')
const { JSONRPCServer, JSONRPCErrorException } = require('json-rpc-2.0')
const { serve } = require('./lib')

const { cert, key } = JSON.parse(process.argv[2])
const closed = []
const methods = { ...require('./methods'), 'peer.Peer/Closed': async () => ({ texts: closed }) }

const server = new JSONRPCServer({ errorListener: () => {} }) // fail fails on purpose
for (const [name, method] of Object.entries(methods)) {
  server.addMethod(name, async (params) => {
    try {
      const result = await method(params)
      return result === undefined ? null : result
    } catch ({ message, code, data }) {
      throw new JSONRPCErrorException(message, code, data)
    }
  })
}

const listener = cert ? https.createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }) : http.createServer()
new WebSocketServer({ server: listener, perMessageDeflate: true, path: '/rpc' }).on('connection', (socket) => {
  let pongs = 0
  socket.on('pong', () => pongs++)
  socket.on('close', (code) => closed.push(`${code} ${pongs > 0 ? 'with' : 'without'} pongs`))
  socket.on('message', async (data, isBinary) => {
    const reply = await server.receiveJSON(data.toString())
    if (!reply) return
    const text = Buffer.from(JSON.stringify(reply))
    const half = text.length >> 1
    socket.send(text.subarray(0, half), { binary: isBinary, fin: false })
    socket.ping()
    socket.send(text.subarray(half), { binary: isBinary, fin: true })
  })
})
serve(listener)
