'use strict'
// json-rpc-2.0's server behind lines over TCP, or behind HTTP.

const http = require('http')
const net = require('net')
const readline = require('readline')
const { JSONRPCServer, JSONRPCErrorException } = require('json-rpc-2.0')
const { serve } = require('./lib')
const methods = require('./methods')

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

const lines = () => net.createServer((socket) => {
  readline.createInterface({ input: socket }).on('line', async (line) => {
    const reply = await server.receiveJSON(line)
    if (reply) socket.write(JSON.stringify(reply) + '\n')
  })
})

const web = () => http.createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const reply = await server.receiveJSON(body)
  if (!reply) return response.writeHead(204).end()
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
})

serve({ tcp: lines, http: web }[JSON.parse(process.argv[2]).transport]())
