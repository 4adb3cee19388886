'use strict'
// connect-node's server, over HTTP/1.1 or HTTP/2 in cleartext.

const http = require('http')
const http2 = require('http2')
const { ConnectError, Code } = require('@connectrpc/connect')
const { connectNodeAdapter } = require('@connectrpc/connect-node')
const { serve } = require('./lib')
const { notes } = require('./connect')

const { version, descriptors } = JSON.parse(process.argv[2])

const handler = connectNodeAdapter({
  routes: (router) => router.service(notes(descriptors), {
    echo: (request, context) => {
      context.responseHeader.set('x-out', context.requestHeader.get('x-in') ?? '')
      context.responseTrailer.set('x-end', '1')
      return request
    },
    fail: (request) => { throw new ConnectError(request.text, Code.NotFound) },
    repeat: async function * (request) {
      for (let i = 0; i < request.size; i++) yield { text: request.text }
    },
    talk: async function * (requests) {
      for await (const request of requests) yield request
    }
  })
})
serve(version === '2' ? http2.createServer(handler) : http.createServer(handler))
