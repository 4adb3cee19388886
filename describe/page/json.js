// JSON is laid out here as text, token by token: JSON.parse would round
// integers beyond 2^53, and show what the server did not say.

import { h } from "./dom.js";

const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]|\s+|[^]/g;

/** isJSON reports whether text is one JSON value. */
export function isJSON(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** pretty returns nodes that show text, indented if it is JSON. */
export function pretty(text) {
  if (!isJSON(text)) return [text];
  const out = [];
  let indent = 0;
  const tokens = text.match(token).filter((t) => t.trim() !== "");
  const line = () => out.push("\n" + "  ".repeat(indent));
  tokens.forEach((t, i) => {
    const next = tokens[i + 1], last = tokens[i - 1];
    switch (t) {
      case "{": case "[":
        out.push(t);
        if (next !== "}" && next !== "]") { indent++; line(); }
        return;
      case "}": case "]":
        if (last !== "{" && last !== "[") { indent--; line(); }
        out.push(t);
        return;
      case ",":
        out.push(t);
        line();
        return;
      case ":":
        out.push(": ");
        return;
    }
    const kind = t[0] === '"' ? (next === ":" ? "name" : "string") : /[-\d]/.test(t[0]) ? "number" : "word";
    out.push(h("span", { class: "json-" + kind }, t));
  });
  return out;
}
