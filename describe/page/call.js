// Making the call and showing what comes back, as it comes.

import { h } from "./dom.js";
import { pretty } from "./json.js";

const shown = 200; // messages of a stream, and the most lines of a hex dump

/** stopwatch returns a function that tells the time since now. */
export function stopwatch() {
  const began = performance.now();
  return () => (performance.now() - began).toFixed(1) + " ms";
}

/** call sends a request and fills result. */
export async function call(request, signal, result) {
  for (const [name, value] of request.cookies) {
    document.cookie = `${name}=${value}; path=${new URL(request.url).pathname}; SameSite=Strict`;
  }
  const after = stopwatch();
  const status = h("p", { class: "status" }, "Sending…");
  result.replaceChildren(status);
  let response;
  try {
    response = await fetch(request.url, { method: request.verb, headers: request.headers, body: request.body || undefined, cache: "no-store", redirect: "manual", signal });
  } catch (e) {
    status.className = "status failed";
    status.textContent = signal.aborted ? "Stopped after " + after() : "No answer: " + e.message;
    return;
  }
  status.className = "status " + (response.status < 400 ? "good" : "failed");
  status.textContent = `${response.status} ${response.statusText}`.trim();
  const time = h("span", { class: "faint" }, " after " + after());
  status.append(time);
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  result.append(h("details", { class: "more" }, h("summary", {}, "Headers"), h("pre", { tabindex: "0" }, headers)));
  try {
    const size = await show(response, result, after);
    time.textContent = ` after ${after()}, ${size} bytes`;
  } catch (e) {
    result.append(h("p", { class: "failed" }, signal.aborted ? "Stopped after " + after() : "The reply broke off: " + e.message));
  }
}

async function show(response, result, after) {
  const type = (response.headers.get("Content-Type") ?? "").split(";")[0].trim().toLowerCase();
  if (type === "application/x-ndjson" || type === "text/event-stream") return stream(response, type, result, after);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes.length === 0) return 0;
  const text = /json|^text\//.test(type) ? pretty(new TextDecoder().decode(bytes)) : [hex(bytes)];
  result.append(h("pre", { class: "reply", tabindex: "0", "aria-label": "Reply" }, ...text));
  return bytes.length;
}

/** messageList shows messages one by one, the latest ones only. */
export function messageList(result, after) {
  const list = h("ol", { class: "stream", tabindex: "0", "aria-label": "Messages" });
  const note = h("p", { class: "faint" }, "Waiting for messages…");
  result.append(list, note);
  let count = 0;
  return {
    add(nodes, about = "") {
      count++;
      list.append(h("li", { value: count }, h("span", { class: "faint" }, after(), about), h("pre", {}, ...nodes)));
      if (list.childElementCount > shown) list.firstElementChild.remove();
      note.textContent = `${count} so far`;
    },
    end(text) {
      note.textContent = text ?? `The stream ended after ${count} messages.`;
    },
  };
}

async function stream(response, type, result, after) {
  const list = messageList(result, after);
  const separator = type === "text/event-stream" ? /\r?\n\r?\n/ : /\n/;
  const reader = response.body.getReader(), decoder = new TextDecoder();
  let rest = "", size = 0;
  for (;;) {
    const { value, done } = await reader.read();
    rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
    size += value?.length ?? 0;
    const messages = rest.split(separator);
    rest = done ? "" : messages.pop();
    for (const message of messages) if (message.trim() !== "") list.add(parts(message, type));
    if (done) break;
  }
  list.end();
  return size;
}

/** parts shows an event's data as JSON and its other lines as they are. */
function parts(message, type) {
  if (type !== "text/event-stream") return pretty(message);
  const data = [], other = [];
  for (const line of message.split(/\r?\n/)) {
    if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
    else other.push(line + "\n");
  }
  return [h("span", { class: "faint" }, other.join("")), ...pretty(data.join("\n"))];
}

function hex(bytes) {
  const lines = [];
  for (let i = 0; i < bytes.length && lines.length < shown; i += 16) {
    const row = [...bytes.subarray(i, i + 16)];
    const codes = row.map((b) => b.toString(16).padStart(2, "0")).join(" ");
    lines.push(codes.padEnd(49) + row.map((b) => (b > 31 && b < 127 ? String.fromCharCode(b) : ".")).join(""));
  }
  return lines.join("\n");
}
