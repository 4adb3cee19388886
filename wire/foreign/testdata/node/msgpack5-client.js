'use strict'
// MessagePack-RPC's arrays and JSON-RPC's maps in MessagePack, made by hand with
// msgpack5, on one connection.

const net = require('net')
const { isDeepStrictEqual } = require('util')
const msgpack = require('msgpack5')()
const { run, once } = require('./lib')
const { text } = require('./checks')

const base64 = (detail) => { detail.value = detail.value.toString('base64') }
const nap = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

run(async ({ port }) => {
  const socket = net.connect({ port, host: '127.0.0.1' }).setNoDelay(true)
  const waiting = new Map()
  socket.pipe(msgpack.decoder()).on('data', (reply) => {
    const id = Array.isArray(reply) ? reply[1] : reply.id
    waiting.get(id)(reply)
    waiting.delete(id)
  })
  await once(socket, 'connect')

  let last = 0
  const expect = (id) => new Promise((resolve) => waiting.set(id, resolve))
  const encode = (message) => msgpack.encode(message).slice()
  const send = (message) => { socket.write(encode(message)) }
  const array = (method, params, id = ++last) => {
    send([0, id, method, params])
    return expect(id)
  }
  const map = (method, params, id = ++last) => {
    send({ jsonrpc: '2.0', method, params, id })
    return expect(id)
  }

  const results = {}
  results.sum = await array('arith.Arith/Sum', [{ numbers: [20, 21] }])
  results.lowestID = await array('arith.Arith/Sum', [], 0)
  results.highestID = await array('arith.Arith/Sum', [], 2 ** 32 - 1)
  const widths = [127, 128, 255, 256, 65535, 65536, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER,
    -1, -32, -33, -128, -129, -32768, -32769, -(2 ** 31), -(2 ** 31) - 1, Number.MIN_SAFE_INTEGER]
  results.widths = []
  for (const n of widths) results.widths.push((await array('arith.Arith/Sum', [{ numbers: [n] }]))[3].sum === n)
  results.text = (await array('peer.Peer/Same', [{ text }]))[3].text === text
  const bytes = Buffer.from([0, 1, 127, 128, 255])
  results.created = await array('io.grpc.KeyValueService/Create', [{ key: bytes, value: bytes }])
  const retrieved = (await array('io.grpc.KeyValueService/Retrieve', [{ key: bytes }]))[3].value
  results.bytes = Buffer.isBuffer(retrieved) && bytes.equals(retrieved)
  const doc = { list: [1, -1.5, true, null, [], {}], '': text, bytes, nested: { list: [{ x: 1 }] } }
  results.document = isDeepStrictEqual((await array('echo.Echo/Echo', [doc]))[3], doc)
  results.failed = (await array('peer.Peer/Fail', [{ code: 5, message: 'no such thing: ü' }])).slice(2)
  results.failed[0].details.forEach(base64)
  results.unknown = (await array('nope', []))[2].code
  results.wrongParams = (await array('arith.Arith/Sum', [{ numbers: 'x' }]))[2].code
  const large = 'é'.repeat(512 * 1024)
  results.large = (await array('peer.Peer/Same', [{ text: large }]))[3].text === large

  const flight = await Promise.all(Array.from({ length: 100 }, (_, i) =>
    i % 2 ? array('peer.Peer/Meet', [{ value: 100 }]) : map('meet', [100])))
  results.inFlight = new Set(flight.map((r) => Array.isArray(r) ? r[3].value : r.result)).size

  results.mapped = await map('sum', [20, 21], 'id')
  results.mappedNamed = (await map('arith.Arith/Sum', { numbers: [1, 2] })).result
  results.mappedText = (await map('same', [text])).result === text
  results.mappedFailed = (await map('fail', [5, 'no such thing: ü'])).error
  results.mappedFailed.data.details.forEach(base64)
  results.mappedUnknown = (await map('nope', [])).error.code

  send([2, 'peer.Peer/Note', [{ text: 'an array' }]])
  send({ jsonrpc: '2.0', method: 'note', params: ['a map'] })

  // Two messages in one segment, and one in three.
  const both = [expect(1001), expect('1002')]
  socket.write(Buffer.concat([encode([0, 1001, 'arith.Arith/Sum', []]), encode({ jsonrpc: '2.0', method: 'sum', id: '1002' })]))
  results.together = await Promise.all(both)
  const whole = expect(1003)
  const cut = encode([0, 1003, 'arith.Arith/Sum', [{ numbers: [2 ** 40, 1] }]])
  for (const part of [cut.subarray(0, 2), cut.subarray(2, 35), cut.subarray(35)]) {
    socket.write(part)
    await nap(20)
  }
  results.cut = await whole
  socket.end()
  return results
})
