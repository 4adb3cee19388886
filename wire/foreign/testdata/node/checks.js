'use strict'
// The calls that every JSON-RPC client makes. call(method, params) resolves with
// the result or rejects with an error that has code, message and data; notify
// sends a notification. Version 1.0 has no named params.

const { failure } = require('./lib')

const text = 'Grüße, 世界 🚀 \u0000 "\\/ \u2028'

exports.text = text

exports.common = async ({ call, notify, version = 2 }) => {
  const results = {}
  results.sum = await call('sum', [20, 21])
  results.noNumbers = await call('sum', [])
  results.inOrder = await call('subtract', [42, 23])
  if (version === 2) {
    results.named = await call('arith.Arith/Sum', { numbers: [-1, -2] })
    results.namedShort = await call('subtract', { subtrahend: 23, minuend: 42 })
  }
  results.largest = await call('sum', [Number.MAX_SAFE_INTEGER - 1, 1])
  results.smallest = await call('sum', [Number.MIN_SAFE_INTEGER + 1, -1])
  results.text = await call('same', [text]) === text

  const doc = { a: [1, -1.5, 1e300, true, null, [], {}], '': text, nested: { list: [{ x: 1 }] } }
  const echoed = await call('echo.Echo/Echo', version === 2 ? doc : [doc])
  results.document = JSON.stringify(sorted(echoed)) === JSON.stringify(sorted(doc))

  results.failed = await failure(call('fail', [5, 'no such thing: ü']))
  results.ownCode = await failure(call('fail', [4242, 'a code of its own']))
  results.unknown = codeOf(await failure(call('nope', [])))
  results.internals = []
  for (const name of ['toString', '__proto__', 'constructor', '']) {
    results.internals.push(codeOf(await failure(call(name, []))))
  }
  results.wrongParams = codeOf(await failure(call('subtract', ['x', 'y'])))

  const large = 'é'.repeat(512 * 1024) // 1 MiB in UTF-8
  results.large = await call('same', [large]) === large

  // None of these is answered before all are there.
  const flight = await Promise.all(Array.from({ length: 100 }, () => call('meet', [100])))
  results.inFlight = new Set(flight).size

  await notify('note', [text])
  return results
}

// Errors of version 1.0 are texts.
const codeOf = (err) => typeof err === 'string' ? 'text' : err.code

function sorted (value) {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.keys(value).sort().map((k) => [k, sorted(value[k])]))
}
