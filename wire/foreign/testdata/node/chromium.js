'use strict'
// A headless Chromium, driven by the DevTools protocol.

const fs = require('fs')
const path = require('path')
const { spawn } = require('child_process')
const WebSocket = require('ws')

const flags = [
  '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--disable-extensions', '--remote-debugging-port=0', 'about:blank'
]

/** Opens a browser with one page, gives it to body, and ends it. */
exports.browse = async (program, profile, body) => {
  const child = spawn(program, [`--user-data-dir=${profile}`, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  let said = ''
  const address = await new Promise((resolve, reject) => {
    child.stderr.on('data', (text) => {
      said += text
      const found = /DevTools listening on (ws:\S+)/.exec(said)
      if (found) resolve(found[1])
    })
    child.once('exit', () => reject(new Error(`${program} ended: ${said}`)))
    child.once('error', reject)
  })
  try {
    return await body(await Page.open(address))
  } finally {
    child.kill()
    await ended
  }
}

class Page {
  /** troubles are exceptions, error messages of the console, and requests that failed or went elsewhere. */
  troubles = []
  #waiting = new Map()
  #next = 0

  static async open (address) {
    const page = new Page()
    page.socket = new WebSocket(address, { perMessageDeflate: false })
    await new Promise((resolve, reject) => page.socket.once('open', resolve).once('error', reject))
    page.socket.on('message', (text) => page.#receive(JSON.parse(text)))
    const { targetInfos } = await page.send('Target.getTargets')
    const { sessionId } = await page.send('Target.attachToTarget', { targetId: targetInfos.find((t) => t.type === 'page').targetId, flatten: true })
    page.session = sessionId
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await page.send(domain + '.enable')
    return page
  }

  #receive ({ id, result, error, method, params }) {
    if (id) {
      const { resolve, reject } = this.#waiting.get(id)
      this.#waiting.delete(id)
      return error ? reject(new Error(error.message)) : resolve(result)
    }
    switch (method) {
      case 'Runtime.exceptionThrown': return this.troubles.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text)
      case 'Runtime.consoleAPICalled': return params.type === 'error' && this.troubles.push(params.args.map((a) => a.value).join(' '))
      // An answer of 404 is an entry of the log, and no trouble: the page shows it.
      case 'Log.entryAdded': return params.entry.level === 'error' && params.entry.source !== 'network' && this.troubles.push(`${params.entry.text} ${params.entry.url ?? ''}`)
      case 'Network.loadingFailed': return params.canceled || this.troubles.push(`loading failed: ${params.errorText} ${params.blockedReason ?? ''}`)
      case 'Network.requestWillBeSent': return this.requests?.(params.request.url)
    }
  }

  send (method, params = {}) {
    const id = ++this.#next
    this.socket.send(JSON.stringify({ id, method, params, sessionId: this.session }))
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
  }

  /** Runs a function in the page, with arguments that are JSON, and returns what it resolves with. */
  async run (f, ...args) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression: `(${f})(...${JSON.stringify(args)})`, awaitPromise: true, returnByValue: true
    })
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value
  }

  /** Waits until a function in the page returns something true, and returns it. */
  async until (f, ...args) {
    for (;;) {
      const value = await this.run(f, ...args)
      if (value) return value
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  prefer (scheme) {
    return this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }, { name: 'prefers-reduced-motion', value: 'reduce' }] })
  }

  async show (url, width, height, scheme) {
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false })
    await this.prefer(scheme)
    await this.send('Page.navigate', { url: 'about:blank' })
    await this.until(() => location.href === 'about:blank')
    await this.send('Page.navigate', { url })
    await this.until((url) => location.href === url && document.readyState === 'complete', url)
  }

  async shoot (file, whole) {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: whole })
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, Buffer.from(data, 'base64'))
  }
}
