'use strict'
// A client from an OpenAPI document: openapi-typescript makes the types, the
// compiler checks the program in openapi/client.ts against them, and the
// program makes its calls with openapi-fetch.

const { execFileSync } = require('child_process')
const fs = require('fs')
const path = require('path')
const { pathToFileURL } = require('url')
const { run } = require('./lib')

const modules = path.join(__dirname, 'node_modules')

run(async ({ document, base }) => {
  // Within node_modules, so that imports find their packages.
  const dir = fs.mkdtempSync(path.join(modules, '.openapi-'))
  try {
    const { default: openapiTS, astToString } = await import('openapi-typescript')
    const text = await (await fetch(document)).text()
    fs.writeFileSync(path.join(dir, 'api.d.ts'), astToString(await openapiTS(JSON.parse(text))))
    fs.copyFileSync(path.join(__dirname, 'openapi', 'client.ts'), path.join(dir, 'client.ts'))
    fs.writeFileSync(path.join(dir, 'package.json'), '{"type":"module"}')
    fs.writeFileSync(path.join(dir, 'tsconfig.json'), JSON.stringify({
      compilerOptions: { strict: true, target: 'es2022', module: 'nodenext', lib: ['es2022', 'dom', 'dom.iterable'], types: [], skipLibCheck: true },
      files: ['client.ts']
    }))
    try {
      execFileSync(process.execPath, [path.join(modules, 'typescript', 'bin', 'tsc'), '-p', dir])
    } catch (e) {
      throw new Error(`the compiler refuses the program:\n${e.stdout}`)
    }
    const { calls } = await import(pathToFileURL(path.join(dir, 'client.js')).href)
    return await calls(base)
  } finally {
    fs.rmSync(dir, { recursive: true })
  }
})
