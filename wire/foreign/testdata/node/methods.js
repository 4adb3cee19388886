'use strict'
// The methods of the JSON-RPC servers in this folder. Each gets params, an
// array or an object, and resolves with the result; fail rejects with an error
// that has code, message and data.

const noted = []
let waiting = []

module.exports = {
  sum: async (numbers) => numbers.reduce((a, b) => a + b, 0),
  subtract: async ([minuend, subtrahend]) => minuend - subtrahend,
  same: async ([text]) => text,
  fail: async ([code, message]) => {
    throw Object.assign(new Error(message), { code, data: { why: 'because' } })
  },
  note: async ([text]) => { noted.push(text) },
  noted: async () => noted,
  meet: ([count]) => new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === count) {
      waiting.forEach((answer, i) => answer(i + 1))
      waiting = []
    }
  })
}
