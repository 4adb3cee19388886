'use strict'
// A MessagePack-RPC server made by hand with msgpack5. It answers in the form that
// it is called in: an array, or JSON-RPC's map. Its errors have the form that
// it is told: a map, an array or a text.

const net = require('net')
const msgpack = require('msgpack5')()
const { serve } = require('./lib')
const methods = require('./methods')

const errors = {
  map: ({ code, message }) => ({ code, message }),
  array: ({ code, message }) => [code, message],
  text: ({ message }) => message
}
const { error } = JSON.parse(process.argv[2])

// The full names that stand for the short ones, with the message as the one
// parameter.
const full = {
  'arith.Arith/Sum': async ([{ numbers = [] } = {}]) => ({ sum: await methods.sum(numbers) }),
  'peer.Peer/Same': async ([{ text = '' } = {}]) => ({ text }),
  'peer.Peer/Fail': ([{ code, message }]) => methods.fail([code, message]),
  'peer.Peer/Note': ([{ text }]) => methods.note([text]),
  'peer.Peer/Noted': async () => ({ texts: await methods.noted() }),
  'peer.Peer/Meet': async ([{ value }]) => ({ value: await methods.meet([value]) })
}

async function answer (method, params) {
  const f = full[method] || methods[method]
  if (!f) throw Object.assign(new Error('no such method'), { code: -32601 })
  return await f(params)
}

serve(net.createServer((socket) => {
  const send = (message) => socket.write(msgpack.encode(message).slice())
  socket.pipe(msgpack.decoder()).on('data', (message) => {
    if (Array.isArray(message)) {
      const [type, id, method, params] = message
      if (type === 2) return answer(id, method)
      answer(method, params).then((result) => send([1, id, null, result ?? null]), (err) => send([1, id, errors[error](err), null]))
      return
    }
    const { id, method, params } = message
    const done = answer(method, params)
    if (id === undefined) return
    done.then((result) => send({ jsonrpc: '2.0', result: result ?? null, id }),
      ({ code, message, data }) => send({ jsonrpc: '2.0', error: { code, message, data }, id }))
  })
}))
