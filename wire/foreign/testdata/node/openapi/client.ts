// The program that is checked against the types made from the OpenAPI document.
// A line that is marked to be an error fails the check if it is none.

import createClient from 'openapi-fetch'
import type { components, paths } from './api.js'

type Problem = components['schemas']['Problem']

/** What the types must not let through; it is compiled and never called. */
export const mistakes = (api: ReturnType<typeof createClient<paths>>) => [
  // @ts-expect-error numbers are no strings
  () => api.POST('/sum', { body: { numbers: ['20'] } }),
  // @ts-expect-error there is no such path
  () => api.POST('/product', {}),
  // @ts-expect-error a path's parameter cannot be left out
  () => api.GET('/kv/{key}', { params: { path: {} } }),
  // @ts-expect-error a parameter of the query that there is not
  () => api.GET('/staff', { params: { query: { perPage: 5 } } })
]

export async function calls (baseUrl: string): Promise<Record<string, unknown>> {
  const api = createClient<paths>({ baseUrl })
  const results: Record<string, unknown> = {}

  const sum = await api.POST('/sum', { body: { numbers: [20, 21] } })
  const total: number = sum.data!.sum // always there: no undefined to ask for
  results.sum = total

  const made = await api.POST('/kv', { body: { key: 'a2V5', value: 'aGk=' } })
  results.made = made.response.status
  const got = await api.GET('/kv/{key}', { params: { path: { key: 'a2V5' } } })
  const value: string = got.data!.value
  results.value = value

  const missing = await api.GET('/kv/{key}', { params: { path: { key: 'bm9uZQ==' } } })
  const problem: Problem = missing.error!
  results.problem = [missing.response.status, problem.code, problem.status]

  const hired = await api.POST('/staff', { body: { name: 'Ada', since: '2026-01-31T12:00:00Z' }, params: { header: { 'Idempotency-Key': 'once' } } })
  const id: string = hired.data!.id! // 64 bits in a string, as the field asks for
  results.hired = [hired.response.status, hired.response.headers.get('Location'), id, hired.data!.name]

  const fetched = await api.GET('/staff/{id}', { params: { path: { id } } })
  const tag = fetched.response.headers.get('ETag')!
  results.fetched = [tag, fetched.data!.name]
  const again = await api.GET('/staff/{id}', { params: { path: { id }, header: { 'If-None-Match': tag } } })
  results.again = again.response.status

  const found = await api.GET('/staff', { params: { header: { 'X-Tenant': 'blue' }, query: { language: ['en', 'de'], 'per-page': 5, 'where.name': 'Ada' } } })
  results.found = found.data!.asked
  results.where = found.data!.members[0].name

  const stream = await api.GET('/count', { params: { query: { count: 2 } }, headers: { Accept: 'application/x-ndjson' }, parseAs: 'text' })
  results.stream = stream.data
  return results
}
