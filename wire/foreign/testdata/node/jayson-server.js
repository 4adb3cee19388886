'use strict'
// jayson's servers: tcp, tls, http and https.

const fs = require('fs')
const jayson = require('jayson')
const { serve } = require('./lib')
const methods = require('./methods')

const { transport, socket, cert, key, version } = JSON.parse(process.argv[2])

const callbacks = {}
for (const [name, method] of Object.entries(methods)) {
  callbacks[name] = (params, callback) => method(params).then(
    (result) => callback(null, result === undefined ? null : result),
    ({ code, message, data }) => callback({ code, message, data })
  )
}
const server = jayson.server(callbacks, { version })
serve(server[transport](cert ? { cert: fs.readFileSync(cert), key: fs.readFileSync(key) } : {}), socket)
