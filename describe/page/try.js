// The form that tries a call.

import { freshId, h } from "./dom.js";
import { call } from "./call.js";
import { socketForm } from "./socket.js";

/** tryForm makes the form for one route; it is built from the parameters. */
export function tryForm(route, method, api) {
  const { op } = route;
  // Parameters that many operations share are of HTTP, not of the method.
  const inputs = (op.parameters ?? []).map((given) => ({ p: resolve(given, api), common: "$ref" in given })).filter(({ p }) => p);
  for (const one of inputs) one.input = inputFor(one.p, api);
  const parameter = ({ p, input }) => field(input, p.name, [p.in, p.required && "required", isList(p) && "one a line"], p.description, api.schemas.type(p.schema));
  if (op["x-everywire"]?.websocket) {
    // A browser's WebSocket has no headers of its own.
    const own = inputs.filter(({ p }) => p.in === "path");
    const message = h("textarea", { id: freshId(), rows: 3, spellcheck: "false", autocomplete: "off", class: "body" });
    message.value = api.schemas.example(op["x-everywire"].websocket.send);
    return socketForm([...own.map(parameter), field(message, "Message", ["JSON"])], message, () => requestOf(route, api, own, null, "", "").url);
  }
  const media = op.requestBody && (op.requestBody.content["application/json"] ?? Object.values(op.requestBody.content)[0]);
  const body = media && h("textarea", { id: freshId(), rows: 1, spellcheck: "false", autocomplete: "off", class: "body" });
  if (body) body.value = api.schemas.example(media.schema);
  const replies = Object.entries(op.responses).filter(([status]) => /^2/.test(status)).flatMap(([, r]) => Object.keys(r.content ?? {}));
  const accept = h("select", { id: freshId() }, replies.map((type) => h("option", {}, type)));
  const headers = h("textarea", { id: freshId(), rows: 2, spellcheck: "false", autocomplete: "off", placeholder: "Name: value" });
  const curl = h("pre", { class: "curl", tabindex: "0", "aria-label": "The same call with curl" });
  const result = h("div", { class: "result", role: "status", "aria-label": "Result" });
  const send = h("button", { type: "submit" }, "Send"), stop = h("button", { type: "button", hidden: true }, "Stop");
  const request = () => requestOf(route, api, inputs, body, replies.length ? accept.value : "", headers.value);

  const refresh = () => {
    if (body) body.rows = Math.min(16, Math.max(2, body.value.split("\n").length));
    try {
      curl.textContent = curlOf(request());
    } catch (e) {
      curl.textContent = "# " + e.message;
    }
  };
  const form = h("form", { class: "try", oninput: refresh, onchange: refresh, onsubmit: async (event) => {
    event.preventDefault();
    const abort = new AbortController();
    stop.onclick = () => abort.abort();
    send.disabled = true;
    stop.hidden = false;
    try {
      await call(request(), abort.signal, result);
    } catch (e) {
      result.replaceChildren(h("p", { class: "failed" }, e.message));
    }
    send.disabled = false;
    stop.hidden = true;
  } },
    h("div", { class: "fields" }, inputs.filter((i) => !i.common).map(parameter)),
    body && field(body, "Body", ["JSON"]),
    replies.length > 1 && field(accept, "Accept", []),
    h("details", { class: "more" }, h("summary", {}, "More headers"), inputs.filter((i) => i.common).map(parameter), field(headers, "Headers", ["one a line"])),
    h("div", { class: "buttons" }, send, stop), curl, result);
  refresh();
  return form;
}

const isList = (p) => p.schema?.type === "array" || p.style === "deepObject";

function resolve(p, api) {
  const name = (p.$ref ?? "").replace("#/components/parameters/", "");
  return name ? api.components.parameters?.[name] : p;
}

function field(input, name, notes, description, type) {
  return h("div", { class: "field" },
    h("label", { for: input.id }, h("code", {}, name), h("span", { class: "faint" }, notes.filter(Boolean).map((n) => " " + n).join(","), type && [" · ", ...type].map((t) => (t.cloneNode ? t.textContent : t)).join(""))),
    input, description && h("p", { class: "faint" }, description));
}

function inputFor(p, api) {
  const id = freshId(), s = api.schemas.resolve(p.schema);
  const choices = s.type === "boolean" ? ["true", "false"] : s.enum ?? s.anyOf?.[0].enum;
  if (isList(p)) return h("textarea", { id, rows: 2, spellcheck: "false", autocomplete: "off", placeholder: p.style === "deepObject" ? "key=value" : "" });
  if (choices) return h("select", { id }, ["", ...choices].map((c) => h("option", {}, c)));
  return h("input", { id, type: "text", required: p.required, spellcheck: "false", autocomplete: "off" });
}

/** requestOf reads the form. */
function requestOf(route, api, inputs, body, accept, more) {
  const query = [], headers = [], cookies = [];
  let path = route.path;
  for (const { p, input } of inputs) {
    const text = input.value;
    if (p.in === "path") {
      const whole = encodeURIComponent(text).replaceAll(".", "%2E");
      path = path.replace("{" + p.name + "}", () => (p["x-everywire-segments"] ? text.split("/").map(encodeURIComponent).join("/") : text.replaceAll(".", "") === "" ? whole : encodeURIComponent(text)));
      continue;
    }
    if (text === "") continue;
    const values = isList(p) ? text.split("\n").filter((line) => line !== "") : [text];
    if (p.in === "query") query.push(...values.map((v) => pair(p, v)));
    if (p.in === "header") headers.push([p.name, text]);
    if (p.in === "cookie") cookies.push([p.name, text]);
  }
  if (accept) headers.push(["Accept", accept]);
  if (body) headers.push(["Content-Type", "application/json"]);
  for (const line of more.split("\n").filter((l) => l.trim())) {
    const colon = line.indexOf(":");
    if (colon < 1) throw new Error(`"${line}" is no header: write Name: value`);
    headers.push([line.slice(0, colon).trim(), line.slice(colon + 1).trim()]);
  }
  const url = api.base + path + (query.length ? "?" + query.join("&") : "");
  return { verb: route.verb, url, headers, cookies, body: body?.value };
}

/** pair is one parameter of a query. That of a map is written key=value in the form, and has its key in brackets. */
function pair(p, text) {
  const equals = text.indexOf("=");
  if (p.style !== "deepObject") return encodeURIComponent(p.name) + "=" + encodeURIComponent(text);
  if (equals < 0) throw new Error(`${p.name}: "${text}" is no entry: write key=value`);
  return encodeURIComponent(`${p.name}[${text.slice(0, equals)}]`) + "=" + encodeURIComponent(text.slice(equals + 1));
}

const quote = (text) => "'" + text.replaceAll("'", "'\\''") + "'";

/** curlOf writes a request as a command for a POSIX shell. */
function curlOf({ verb, url, headers, cookies, body }) {
  const parts = ["curl" + (verb === "GET" ? "" : " -X " + verb) + " " + quote(url)];
  for (const [name, value] of headers) if (!(name === "Accept" && value === "application/json")) parts.push("-H " + quote(`${name}: ${value}`));
  if (cookies.length) parts.push("-b " + quote(cookies.map(([name, value]) => `${name}=${value}`).join("; ")));
  if (body) parts.push("-d " + quote(body));
  if (headers.some(([, value]) => /ndjson|event-stream/.test(value))) parts.push("-N");
  return parts.join(" \\\n  ");
}
