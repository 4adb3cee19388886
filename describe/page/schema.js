// What a schema means to a reader: its type in a word, its fields in a table,
// an example to start from.

import { h, link, prose } from "./dom.js";

const prefix = "#/components/schemas/";

const nameOf = (s) => (s?.$ref ?? "").startsWith(prefix) ? s.$ref.slice(prefix.length) : undefined;

export class Schemas {
  constructor(doc) {
    this.all = doc.components?.schemas ?? {};
  }

  /** resolve follows a reference, also one that is wrapped for its description. */
  resolve(s) {
    const one = s?.allOf?.length === 1 ? s.allOf[0] : s;
    const name = nameOf(one);
    return (name !== undefined && Object.hasOwn(this.all, name) ? this.all[name] : one) ?? {};
  }

  /** type names a schema's type, with links to those that are described below. */
  type(s) {
    if (s?.allOf?.length === 1) s = s.allOf[0];
    const name = nameOf(s);
    if (name !== undefined) return [link("schema", name)];
    if (s?.anyOf) return s.anyOf.flatMap((one, i) => (i ? [" or ", ...this.type(one)] : this.type(one)));
    if (s?.enum) return [s.enum.map((v) => JSON.stringify(v)).join(" or ")];
    switch (s?.type) {
      case "array": return ["list of ", ...this.type(s.items)];
      case "object": return s.additionalProperties ? ["map to ", ...this.type(s.additionalProperties)] : ["object"];
      case undefined: return ["any value"];
      case "string": return [s.contentEncoding === "base64" ? "bytes (base64)" : s.format ? s.format + " (string)" : "string"];
    }
    return [s.format ?? s.type];
  }

  /** view shows a schema: its name, if it has one, and its fields. */
  view(s) {
    const to = this.resolve(s);
    const name = h("p", { class: "type" }, ...this.type(s));
    if (to.properties === undefined) return [name];
    return to === s ? [this.fields(to)] : [name, this.fields(to)];
  }

  fields(s) {
    const all = Object.entries(s.properties ?? {});
    if (all.length === 0) return h("p", { class: "type" }, "no fields");
    return h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "Field"), h("th", {}, "Type"), h("th", {}, "Meaning"))),
      h("tbody", {}, all.map(([name, f]) => h("tr", {},
        h("th", { scope: "row" }, h("code", {}, name)),
        h("td", {}, ...this.type(f)),
        h("td", {}, ...prose(f.description), ...this.bounds(f))))));
  }

  bounds(s) {
    const parts = [];
    if (s.pattern) parts.push("matches " + s.pattern);
    return parts.map((p) => h("p", { class: "faint" }, p));
  }

  /** example is a value that fits, as JSON text: numbers keep their digits. */
  example(s, indent = "", within = []) {
    s = this.resolve(s);
    if (within.includes(s)) return "null";
    const deeper = indent + "  ";
    if (s.anyOf) return this.example(s.anyOf[0], indent, within);
    if (s.enum) return JSON.stringify(s.enum.find((v) => !/UNSPECIFIED/.test(v)) ?? s.enum[0]);
    switch (s.type) {
      case "boolean": return "false";
      case "integer": case "number": return "0";
      case "null": return "null";
      case "array": {
        const one = this.example(s.items, indent, [...within, s]);
        return one === "null" ? "[]" : `[${one}]`;
      }
      case "object": {
        const members = Object.entries(s.properties ?? {})
          .map(([name, f]) => [name, this.example(f, deeper, [...within, s])])
          .filter(([, value]) => value !== "null");
        if (members.length === 0) return "{}";
        return "{\n" + members.map(([name, value]) => deeper + JSON.stringify(name) + ": " + value).join(",\n") + "\n" + indent + "}";
      }
      case "string": return JSON.stringify(textExample(s));
    }
    return "{}";
  }
}

function textExample(s) {
  if (s.format === "date-time") return "2026-01-31T12:00:00Z";
  if (s.contentEncoding === "base64") return "aGVsbG8=";
  if (s.pattern?.endsWith("s$")) return "1.500s";
  return s.pattern ? "0" : "";
}
