// A client of @grpc/grpc-js, with our .proto files read by @grpc/proto-loader.
'use strict'

const path = require('node:path')
const grpc = require('@grpc/grpc-js')
const loader = require('@grpc/proto-loader')
const { run } = require('./lib')

const soon = (ms) => ({ deadline: Date.now() + ms })
const wait = 60000

// unary calls a method and resolves to its reply, or to its error.
const unary = (client, method, request, metadata = new grpc.Metadata(), options = soon(wait)) =>
  new Promise((resolve) => {
    const seen = {}
    const call = client[method](request, metadata, options, (error, reply) => {
      seen.error = error
      seen.reply = reply
    })
    call.on('metadata', (md) => { seen.header = md })
    call.on('status', (status) => {
      seen.trailer = status.metadata
      setImmediate(resolve, seen)
    })
  })

const collect = (stream) => new Promise((resolve, reject) => {
  const all = []
  stream.on('data', (n) => all.push(Number(n.value)))
  stream.on('end', () => resolve(all))
  stream.on('error', reject)
})

run(async (args) => {
  const files = ['arith', 'peer', 'io/grpc', 'wide'].map((name) => path.join(args.protos, 'everywire', name + '.proto'))
  const definition = loader.loadSync(files, { includeDirs: [args.protos], keepCase: true, longs: String })
  const services = grpc.loadPackageDefinition(definition)
  const address = `127.0.0.1:${args.port}`
  const insecure = grpc.credentials.createInsecure()
  const arith = new services.arith.Arith(address, insecure)
  const kv = new services.io.grpc.KeyValueService(address, insecure)
  const peer = new services.peer.Peer(address, insecure)
  const results = {}
  results.sum = Number((await unary(arith, 'Sum', { numbers: [20, 21] })).reply.sum)
  results['large sum'] = (await unary(arith, 'Sum', { numbers: ['9223372036854775806', 1] })).reply.sum

  const value = Buffer.alloc(2000, Buffer.from([0, 255]))
  await unary(kv, 'Create', { key: Buffer.from('node'), value })
  results.kv = (await unary(kv, 'Retrieve', { key: Buffer.from('node') })).reply.value.equals(value)
  const none = (await unary(kv, 'Retrieve', { key: Buffer.from('none') })).error
  results['not found'] = [grpc.status[none.code], none.details]

  const failed = (await unary(peer, 'Fail', { code: 5, message: 'no such thing: ü' })).error
  results.fail = [grpc.status[failed.code], failed.details, failed.metadata.get('grpc-status-details-bin')[0].toString('base64')]

  const md = new grpc.Metadata()
  md.set('who', 'node')
  md.set('raw-bin', Buffer.from([0, 255]))
  const told = await unary(peer, 'Tell', {}, md)
  results.metadata = [told.reply.text, told.header.get('heard')[0], told.trailer.get('bytes-bin')[0].toString('hex')]

  // grpc-go's server resets the stream by CANCEL at the deadline. grpc-js calls that
  // CANCELLED where it comes before its own timer has run, late as Node may be; gRPC's C
  // core looks at the clock, and so do we.
  const end = Date.now() + 200
  const late = (await unary(peer, 'Block', {}, new grpc.Metadata(), { deadline: end })).error
  const byReset = late.code === grpc.status.CANCELLED && Date.now() >= end
  results.deadline = byReset ? 'DEADLINE_EXCEEDED' : grpc.status[late.code]
  const cancelled = new Promise((resolve) => {
    const call = peer.Block({}, soon(wait), (error) => resolve(error.code === grpc.status.CANCELLED))
    unary(peer, 'Began', {}).then(() => call.cancel())
  })
  results.cancel = await cancelled

  results['server stream'] = await collect(peer.Count({ value: 5 }, soon(wait)))
  results['client stream'] = await new Promise((resolve, reject) => {
    const call = peer.Add(soon(wait), (error, reply) => (error ? reject(error) : resolve(Number(reply.value))))
    for (let n = 1; n <= 10; n++) call.write({ value: n })
    call.end()
  })
  results['both streams'] = await new Promise((resolve, reject) => {
    const all = []
    const call = peer.Double(soon(wait))
    call.on('data', (n) => {
      all.push(Number(n.value))
      if (all.length < 3) call.write({ value: all.length + 1 })
      else call.end()
    })
    call.on('end', () => resolve(all))
    call.on('error', reject)
    call.write({ value: 1 })
  })

  // The same bytes: fields are written in the order of the .proto file, which is
  // that of their numbers.
  const wide = definition['peer.Peer'].Wide
  const raw = Buffer.from(args.wide, 'base64')
  results['same bytes'] = wide.requestSerialize(wide.requestDeserialize(raw)).equals(raw)

  for (const client of [arith, kv, peer]) client.close()
  return results
})
