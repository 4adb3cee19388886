'use strict'
// What the scripts share: they get one JSON object as their argument and
// answer with JSON on stdout.

const timeLimit = 60_000

function limit () {
  setTimeout(() => {
    console.error(`not done after ${timeLimit} ms`)
    process.exit(3)
  }, timeLimit).unref()
}

function fail (err) {
  console.error(err && err.stack ? err.stack : err)
  process.exit(1)
}

process.on('uncaughtException', fail)

/** Runs body(args), prints the object that it resolves with, and exits. */
exports.run = (body) => {
  limit()
  // The timer alone does not keep the process: a promise that nobody settles
  // would end it with success.
  process.on('beforeExit', () => fail(new Error('nothing left to wait for, and no result')))
  body(JSON.parse(process.argv[2])).then(
    (results) => process.stdout.write(JSON.stringify(results) + '\n', () => process.exit(0)),
    fail
  )
}

/** Listens on a free port of the loopback, or on a unix socket, prints where as JSON, and exits when stdin ends. */
exports.serve = (server, socket) => {
  limit()
  process.stdin.on('end', () => process.exit(0)).resume()
  server.on('error', fail)
  const print = (addr) => console.log(JSON.stringify({ addr }))
  if (socket) server.listen(socket, () => print(socket))
  else server.listen(0, '127.0.0.1', () => print(`127.0.0.1:${server.address().port}`))
}

/** Resolves with what the test compares of the error that promise rejects with. */
exports.failure = (promise) => promise.then(
  (value) => { throw new Error(`succeeded with ${JSON.stringify(value)}`) },
  (err) => typeof err === 'string' ? err : { code: err.code, message: err.message, data: err.data }
)

/** Resolves when the emitter emits the event. */
exports.once = (emitter, event) => new Promise((resolve, reject) => {
  emitter.once(event, resolve)
  emitter.once('error', reject)
})
