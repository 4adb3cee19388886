'use strict'
// Validates the OpenAPI documents of a server against the schemas that the
// OpenAPI Initiative publishes, and follows their references.

const { run } = require('./lib')

run(async ({ urls }) => {
  const { Validator } = await import('@seriousme/openapi-schema-validator')
  const results = {}
  for (const url of urls) {
    const response = await fetch(url)
    const document = await response.json()
    const validator = new Validator()
    const { valid, errors } = await validator.validate(document)
    results[url] = { valid, errors, version: validator.version }
    if (valid) validator.resolveRefs()
  }
  return results
})
