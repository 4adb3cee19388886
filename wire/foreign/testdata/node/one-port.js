'use strict'
// Clients of four wires and a page, on one port of one server: each adds a key
// of its own to the same store and reads those of all before it.

const net = require('net')
const jayson = require('jayson/promise')
const msgpack = require('msgpack5')()
const { run } = require('./lib')
const { browse } = require('./chromium')

const service = 'io.grpc.KeyValueService'
const base64 = (text) => Buffer.from(text).toString('base64')
const text = (value) => Buffer.from(value, 'base64').toString()

/** Calls by MessagePack-RPC, whose messages are arrays. */
function msgpackrpc (port) {
  const socket = net.connect({ port, host: '127.0.0.1' })
  const waiting = new Map()
  socket.pipe(msgpack.decoder()).on('data', ([, id, error, result]) => waiting.get(id)({ error, result }))
  let next = 0
  return {
    call: (method, params) => new Promise((resolve) => {
      waiting.set(next, resolve)
      socket.write(msgpack.encode([0, next++, `${service}/${method}`, [params]]).slice())
    }),
    close: () => socket.destroy()
  }
}

/** What a page does: REST, the Connect protocol and gRPC-Web, all by fetch. */
async function page (service, keys) {
  const b64 = (text) => btoa(text)
  const results = {}
  const connect = async (method, message) => {
    const response = await fetch(`/${service}/${method}`, {
      method: 'POST', headers: { 'Content-Type': 'application/json', 'Connect-Protocol-Version': '1' }, body: JSON.stringify(message)
    })
    return [response.status, await response.json()]
  }
  results.created = await connect('Create', { key: b64('page'), value: b64('by Connect') })
  results.twice = (await connect('Create', { key: b64('page'), value: '' }))[1].code
  results.values = await Promise.all(keys.map(async (key) => atob((await connect('Retrieve', { key: b64(key) }))[1].value)))

  // gRPC-Web: a byte of flags and a length before each message; the last is the trailers.
  const message = new TextEncoder().encode(JSON.stringify({ key: b64('page') }))
  const body = new Uint8Array(5 + message.length)
  new DataView(body.buffer).setUint32(1, message.length)
  body.set(message, 5)
  const response = await fetch(`/${service}/Retrieve`, {
    method: 'POST', headers: { 'Content-Type': 'application/grpc-web+json', 'X-Grpc-Web': '1' }, body
  })
  const frames = new DataView(await response.arrayBuffer())
  const part = (from, length) => new TextDecoder().decode(new Uint8Array(frames.buffer, from, length))
  const length = frames.getUint32(1)
  results.grpcWeb = [atob(JSON.parse(part(5, length)).value), /grpc-status: *0/i.test(part(5 + length + 5, frames.getUint32(5 + length + 1)))]

  const rest = await fetch('/employees?perpage=1')
  const list = await rest.json()
  results.rest = [rest.status, list.employees.length, typeof list.total]
  return results
}

run(async ({ chromium, profile, port }) => {
  const url = `http://127.0.0.1:${port}`
  const results = {}

  const tcp = jayson.Client.tcp({ port, host: '127.0.0.1' })
  results.jaysonTCP = (await tcp.request(`${service}/Create`, { key: base64('jayson'), value: base64('by TCP') })).result
  const http = jayson.Client.http({ port, host: '127.0.0.1', path: '/rpc' })
  results.jaysonHTTP = text((await http.request(`${service}/Retrieve`, { key: base64('jayson') })).result.value)

  const stream = msgpackrpc(port)
  results.msgpackCreated = (await stream.call('Create', { key: Buffer.from('msgpack5'), value: Buffer.from('by MessagePack') })).error
  results.msgpackRead = (await stream.call('Retrieve', { key: Buffer.from('jayson') })).result.value.toString()
  stream.close()

  results.page = await browse(chromium, profile, async (tab) => {
    await tab.show(url + '/docs', 1280, 800, 'light')
    results.docs = await tab.until((names) => names.every((name) => document.body.textContent.includes(name)), ['CreateEmployee', 'Retrieve'])
    const all = await tab.run(page, service, ['jayson', 'msgpack5', 'curl', 'page'])
    results.troubles = tab.troubles
    return all
  })
  return results
})
