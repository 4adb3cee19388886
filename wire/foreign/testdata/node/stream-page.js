'use strict'
// Streams on REST as a page uses them: fetch, EventSource and WebSocket of a
// browser, with nothing of ours in the page.

const { run } = require('./lib')
const { browse } = require('./chromium')

/** Reads a body of lines: what came, and whether it came to its end. */
async function lines (path) {
  const response = await fetch(path)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return [text, 'whole']
      text += value
    }
  } catch (e) {
    return [text, 'broken off']
  }
}

/** Gathers the events of an EventSource until the server has sent it away. */
function events (path) {
  return new Promise((resolve) => {
    const seen = []
    const source = new EventSource(path)
    source.onmessage = (e) => seen.push([JSON.parse(e.data).number, e.lastEventId])
    source.onerror = (e) => {
      if (e.data) seen.push(JSON.parse(e.data).code)
      if (source.readyState === EventSource.CLOSED) resolve(seen)
    }
  })
}

/** Sends messages on a WebSocket, and gathers what comes until it is closed. */
function talk (path, protocols, messages) {
  return new Promise((resolve) => {
    const seen = []
    const socket = new WebSocket(new URL(path, location.href), protocols)
    socket.binaryType = 'arraybuffer'
    socket.onopen = () => {
      for (const m of messages) socket.send(m.control ? new TextEncoder().encode(JSON.stringify(m.control)) : m.text ?? JSON.stringify(m))
    }
    socket.onmessage = (e) => seen.push(JSON.parse(typeof e.data === 'string' ? e.data : new TextDecoder().decode(e.data)))
    socket.onclose = (e) => resolve([...seen, e.code, e.reason])
  })
}

run(({ chromium, profile, url }) => browse(chromium, profile, async (page) => {
  await page.show(url + '/openapi.json', 800, 600, 'light')
  const end = { text: '' }
  const all = {
    lines: page.run(lines, '/ticks?count=2'),
    'lines, failed': page.run(lines, '/ticks?count=1&code=5'),
    events: page.run(events, '/ticks?count=2'),
    'events, failed': page.run(events, '/ticks?count=1&code=5'),
    'events, come again': page.run(events, '/ticks?count=2&code=14'),
    conversation: page.run(talk, '/test.Clock/Talk', [], [{ name: 'a' }, { name: 'b' }, end]),
    'conversation, failed': page.run(talk, '/test.Clock/Talk', [], [{ code: 7 }]),
    'conversation, whole': page.run(talk, '/test.Clock/Talk', ['everywire.rest'], [{ control: { metadata: { 'x-name': ['me'] } } }, { name: 'a' }, end])
  }
  const results = {}
  for (const [name, result] of Object.entries(all)) results[name] = await result
  await page.show('data:text/html,', 800, 600, 'light')
  results['another origin'] = await page.run(`(url) => new Promise((resolve) => {
    new WebSocket(url).onclose = (e) => resolve(e.code)
  })`, url.replace('http', 'ws') + '/test.Clock/Talk')
  return results
}))
