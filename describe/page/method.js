// A method's card: what it does, its routes, its fields, and the form that
// tries it.

import { anchor, freshId, h, prose } from "./dom.js";
import { tryForm } from "./try.js";

const verbs = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/** methodsOf gathers operations by the method that they reach. */
export function methodsOf(doc) {
  const byName = new Map();
  const add = (path, verb, op) => {
    const name = op["x-everywire"]?.method ?? op.operationId;
    if (!byName.has(name)) {
      byName.set(name, { name, short: op.summary || name, service: op.tags?.[0] ?? "", about: op["x-everywire"] ?? {}, description: op.description, deprecated: op.deprecated, routes: [] });
    }
    byName.get(name).routes.push({ verb: verb.toUpperCase(), path, op });
  };
  for (const [path, item] of Object.entries(doc.paths ?? {})) {
    for (const [verb, op] of Object.entries(item)) if (verbs.includes(verb)) add(path, verb, op);
    for (const [verb, op] of Object.entries(item["x-additionalOperations"] ?? {})) add(path, verb, op);
  }
  return [...byName.values()];
}

const verbBadge = (verb) => h("span", { class: "verb verb-" + verb.toLowerCase().replace(/[^a-z]/g, "") }, verb);

/** methodCard is closed at first; its inside is made when it is opened. */
export function methodCard(method, api) {
  const [first] = method.routes;
  const inside = h("div", { class: "inside" });
  const card = h("details", { class: "card method", id: anchor("method", method.name) },
    h("summary", {}, h("h3", {}, method.short), verbBadge(first.verb), h("code", { class: "path" }, first.path), marks(method)), inside);
  card.addEventListener("toggle", () => {
    if (card.open && inside.childElementCount === 0) fill(inside, method, api);
  });
  return card;
}

function marks(method) {
  const all = [];
  if (method.deprecated) all.push("deprecated");
  if (method.about.kind && method.about.kind !== "unary") all.push(method.about.kind);
  if (method.about.idempotency) all.push(method.about.idempotency);
  return all.map((text) => h("span", { class: "mark" }, text));
}

function fill(inside, method, api) {
  inside.append(...prose(method.description), h("p", { class: "faint" }, "The method ", h("code", {}, method.name), " on every wire."));
  const place = h("div");
  if (method.routes.length > 1) {
    const group = freshId();
    inside.append(h("fieldset", { class: "routes" }, h("legend", {}, "Route"), method.routes.map((route, i) => h("label", {},
      h("input", { type: "radio", name: group, checked: i === 0, onchange: () => place.replaceChildren(...routeView(route, method, api)) }),
      verbBadge(route.verb), h("code", { class: "path" }, route.path)))));
  }
  place.append(...routeView(method.routes[0], method, api));
  inside.append(place);
}

function routeView(route, method, api) {
  const { op } = route;
  const parts = [];
  const body = op.requestBody && Object.values(op.requestBody.content)[0];
  const ws = op["x-everywire"]?.websocket;
  parts.push(tryForm(route, method, api));
  if (body) parts.push(h("h4", {}, "Request body"), ...api.schemas.view(body.schema));
  if (ws) parts.push(h("h4", {}, "Messages to the server"), ...api.schemas.view(ws.send), h("h4", {}, "Messages from the server"), ...api.schemas.view(ws.receive));
  for (const [status, r] of Object.entries(op.responses)) parts.push(...responseView(status, r, api));
  return parts;
}

function responseView(status, r, api) {
  const name = (r.$ref ?? "").replace("#/components/responses/", "");
  if (name && Object.hasOwn(api.components.responses ?? {}, name)) r = api.components.responses[name];
  const media = Object.entries(r.content ?? {});
  const parts = [h("h4", {}, status === "default" ? "Errors" : "Reply " + status), h("p", {}, r.description)];
  if (media.length > 0) {
    const [, one] = media[0];
    const schema = one["x-itemSchema"] ?? one.schema;
    // Every method has the same errors: their fields are shown once, below.
    parts.push(...(status === "default" ? [h("p", { class: "type" }, ...api.schemas.type(schema))] : api.schemas.view(schema)), h("p", { class: "faint" }, "As ", media.map(([type]) => type).join(", ")));
  }
  for (const [header, one] of Object.entries(r.headers ?? {})) parts.push(h("p", {}, h("code", {}, header), " ", one.description ?? ""));
  return parts;
}
