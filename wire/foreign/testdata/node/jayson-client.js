'use strict'
// jayson's clients: tcp and tls make a connection for every call.

const fs = require('fs')
const jayson = require('jayson')
const { run } = require('./lib')
const { common } = require('./checks')

run(async ({ transport, port, socket, ca, version }) => {
  let last = 0
  const options = { port, host: '127.0.0.1', path: '/rpc', version, generator: () => String(++last) }
  if (transport === 'tcp' || transport === 'tls') options.path = socket // or undefined
  if (ca) Object.assign(options, { ca: fs.readFileSync(ca), servername: 'localhost' })
  const client = jayson.client[transport](options)

  const call = (method, params, id) => new Promise((resolve, reject) => {
    client.request(method, params, id, (err, error, result) => {
      if (err) reject(err)
      else if (error) reject(error)
      else resolve(result)
    })
  })
  // A notification is a request with the id null; in 2.0 jayson leaves the member out.
  const results = await common({ call, notify: (method, params) => call(method, params, null), version })
  results.stringID = await call('sum', [1, 2], 'id')
  results.zeroID = await call('sum', [1, 2], 0)

  if (version === 1) return results // it has no batches

  const batch = (requests) => new Promise((resolve, reject) => {
    client.request(requests, (err, errors, successes) => err ? reject(err) : resolve({ errors, successes }))
  })
  results.batch = await batch([
    client.request('sum', [1, 2], 1, undefined),
    client.request('nope', [], 2, undefined),
    client.request('note', ['in a batch'], null, undefined),
    client.request('subtract', [5, 3], 3, undefined)
  ])
  results.batch.errors = results.batch.errors.map(({ id, error }) => [id, error.code])
  results.batch.successes = results.batch.successes.map(({ id, result }) => [id, result])
  results.emptyBatch = await new Promise((resolve, reject) => {
    client.request([], (err, response) => err ? reject(err) : resolve(response.error.code))
  })
  results.noMethod = await new Promise((resolve, reject) => {
    client.request({ jsonrpc: '2.0', id: 1 }, (err, response) => err ? reject(err) : resolve(response.error.code))
  })
  return results
})
