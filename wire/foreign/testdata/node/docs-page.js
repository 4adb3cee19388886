'use strict'
// The documentation page in a browser: everything opened at several widths, in
// light and in dark, and calls tried by filling in its forms.

const path = require('path')
const { run } = require('./lib')
const { browse } = require('./chromium')

/** Finds what sticks out of the window, and inputs without a label. */
function faults () {
  const width = document.documentElement.clientWidth
  const found = []
  if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} px wide`)
  for (const e of document.body.querySelectorAll('*')) {
    const r = e.getBoundingClientRect()
    if (r.width > 0 && r.height > 0 && !e.closest('.skip, .hidden') && (r.right > width + 1 || r.left < -1)) found.push(`${e.tagName} ${e.textContent.slice(0, 40)} from ${r.left} to ${r.right}`)
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.tagName) && e.labels.length === 0) found.push(`${e.outerHTML} has no label`)
  }
  return found
}

const ready = () => !document.getElementById('state') && document.querySelector('details.method')

/** Opens a method, chooses a route, fills in its form and sends it. */
async function attempt (method, route, values) {
  const card = document.getElementById('method-' + encodeURIComponent(method))
  card.open = true
  await new Promise((resolve) => setTimeout(resolve))
  const choice = [...card.querySelectorAll('.routes label')].find((l) => l.textContent === route)
  if (choice) choice.click()
  const form = card.querySelector('form')
  for (const [name, value] of Object.entries(values)) {
    const label = [...form.querySelectorAll('label')].find((l) => l.querySelector('code').textContent === name)
    if (!label) throw new Error(`${method} has no input ${name}`)
    label.control.value = value
    label.control.dispatchEvent(new Event('input', { bubbles: true }))
  }
  form.requestSubmit()
}

/** What the page shows of the result, once it is complete. */
function outcome (method) {
  const form = document.getElementById('method-' + encodeURIComponent(method)).querySelector('form')
  if (form.querySelector('button[type=submit]').disabled) return null
  const text = (selector) => form.querySelector(selector)?.textContent
  return {
    status: text('.status')?.replace(/ after .*/, ''),
    timed: /after [\d.]+ ms, \d+ bytes/.test(text('.status')),
    headers: /^date: /m.test(text('.result .more pre')),
    reply: text('.reply'),
    messages: [...form.querySelectorAll('.stream pre')].map((e) => e.textContent),
    curl: text('.curl')
  }
}

/** Sends two messages over a WebSocket, then says that there are no more. */
async function chat (method, id) {
  const card = document.getElementById('method-' + encodeURIComponent(method))
  card.open = true
  await new Promise((resolve) => setTimeout(resolve))
  const form = card.querySelector('form')
  card.scrollIntoView()
  const [path, message] = form.querySelectorAll('input, textarea')
  path.value = id
  message.value = '{}'
  const shown = async (n) => { while (form.querySelectorAll('.stream li').length < n) await new Promise((resolve) => setTimeout(resolve, 20)) }
  const ended = async () => { while (!/ after .* ms/.test(form.querySelector('.status').textContent) || !form.querySelector('.good, .failed')) await new Promise((resolve) => setTimeout(resolve, 20)) }
  form.requestSubmit()
  if (id !== '0') {
    await shown(2)
    form.requestSubmit()
    await shown(4)
    ;[...form.querySelectorAll('button')].find((b) => b.textContent === 'No more').click()
  }
  await ended()
  return { messages: [...form.querySelectorAll('.stream pre')].map((e) => e.textContent), status: form.querySelector('.status').textContent.replace(/ after .*/, '') }
}

run(({ chromium, profile, url, shots, tries, chat: chats }) => browse(chromium, profile, async (page) => {
  const elsewhere = []
  page.requests = (asked) => { if (new URL(asked).protocol.startsWith('http') && new URL(asked).origin !== new URL(url).origin) elsewhere.push(asked) }
  const results = { faults: [] }
  const openAll = () => { for (const d of document.querySelectorAll('details')) d.open = true }
  for (const width of [1280, 400]) {
    await page.show(url, width, 900, 'light')
    await page.until(ready)
    if (shots) await page.shoot(path.join(shots, `${width}-closed.png`), false)
    await page.run(openAll)
    await page.until(() => [...document.querySelectorAll('.method .inside')].every((e) => e.childElementCount > 0))
    await page.run(openAll) // what the methods have inside
    for (const scheme of ['light', 'dark']) {
      await page.prefer(scheme)
      const shown = await page.run(() => getComputedStyle(document.body).backgroundColor)
      const bright = Number(/\d+/.exec(shown)[0]) > 128
      if (bright !== (scheme === 'light')) results.faults.push(`${scheme} is ${shown}`)
      for (const f of await page.run(faults)) results.faults.push(`${width} px, ${scheme}: ${f}`)
      if (shots) await page.shoot(path.join(shots, `${width}-${scheme}.png`), true)
    }
  }
  await page.show(url, 1280, 900, 'light')
  await page.until(ready)
  results.title = await page.run(() => document.title)
  results.methods = await page.run(() => [...document.querySelectorAll('.method h3')].map((e) => e.textContent))
  results.markup = await page.run(() => document.querySelectorAll('#main img, #main script, #main b, #list b').length)
  for (const [name, { method, route, values }] of Object.entries(tries)) {
    await page.run(attempt, method, route, values)
    results[name] = await page.until(outcome, method)
    if (shots) {
      await page.run((method) => document.getElementById('method-' + encodeURIComponent(method)).scrollIntoView(), method)
      await page.shoot(path.join(shots, `try-${name}.png`), false)
    }
  }
  results.chat = await page.run(chat, chats, '7')
  if (shots) await page.shoot(path.join(shots, 'chat.png'), false)
  results.failed = await page.run(chat, chats, '0')
  await page.run(() => { const f = document.getElementById('filter'); f.value = 'sum'; f.dispatchEvent(new Event('input')) })
  results.filtered = await page.run(() => [...document.querySelectorAll('#list li')].filter((e) => !e.hidden).map((e) => e.textContent))
  results.troubles = page.troubles
  results.elsewhere = elsewhere
  return results
}))
