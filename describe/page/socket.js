// The form that tries a stream over a WebSocket: each message is a text of JSON,
// an empty one says that no more will come, and the server's close ends it.

import { h } from "./dom.js";
import { messageList, stopwatch } from "./call.js";
import { pretty } from "./json.js";

const goodEnd = 1000, codes = 4000; // and the number of the status

/** socketForm makes the form from its fields; address reads them. */
export function socketForm(fields, message, address) {
  const result = h("div", { class: "result", role: "status", "aria-label": "Result" });
  const send = h("button", { type: "submit" }, "Send");
  const last = h("button", { type: "button", hidden: true, onclick: () => { socket.send(""); last.hidden = true; send.disabled = true; } }, "No more");
  const stop = h("button", { type: "button", hidden: true, onclick: () => socket.close() }, "Stop");
  let socket, sent;

  const open = () => {
    const after = stopwatch();
    const status = h("p", { class: "status" }, "Connecting…");
    result.replaceChildren(status);
    const list = messageList(result, after);
    sent = (text) => list.add(pretty(text), " sent");
    const one = socket = new WebSocket(address().replace(/^http/, "ws"));
    last.hidden = stop.hidden = false;
    socket.addEventListener("open", () => { status.textContent = "Open after " + after(); });
    socket.addEventListener("message", (event) => list.add(pretty(event.data), " received"));
    socket.addEventListener("close", (event) => {
      const good = event.code === goodEnd;
      status.className = "status " + (good ? "good" : "failed");
      status.textContent = good ? "Ended well" : event.code > codes ? `Failed with code ${event.code - codes}: ${event.reason}` : `Closed with ${event.code} ${event.reason}`.trim();
      status.append(h("span", { class: "faint" }, " after " + after()));
      list.end();
      if (one !== socket) return;
      socket = undefined;
      last.hidden = stop.hidden = true;
      send.disabled = false;
    });
  };

  return h("form", { class: "try", onsubmit: (event) => {
    event.preventDefault();
    try {
      if (!socket) open();
    } catch (e) {
      result.replaceChildren(h("p", { class: "failed" }, e.message));
      return;
    }
    const text = message.value;
    const go = () => { socket.send(text); sent(text); };
    if (socket.readyState === WebSocket.OPEN) go();
    else socket.addEventListener("open", go, { once: true });
  } }, fields, h("p", { class: "faint" }, "The first message opens a WebSocket. Further ones go over the same, until you say that there are no more."),
  h("div", { class: "buttons" }, send, last, stop), result);
}
