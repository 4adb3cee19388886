// The page: it reads the OpenAPI document that the server makes, and shows it.

import { anchor, h, link, prose } from "./dom.js";
import { methodCard, methodsOf } from "./method.js";
import { Schemas } from "./schema.js";

const byId = (id) => document.getElementById(id);

async function load() {
  const url = new URL(document.querySelector("meta[name=openapi]").content, document.baseURI);
  const response = await fetch(url, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  const doc = await response.json();
  // A server's URL is relative to the document (OpenAPI 3.1.1, section 4.8.5).
  const base = new URL(doc.servers?.[0]?.url ?? "/", url).href.replace(/\/$/, "");
  show(doc, { url, base, schemas: new Schemas(doc), components: doc.components ?? {} });
}

function show(doc, api) {
  document.title = doc.info.title;
  byId("title").textContent = doc.info.title;
  const other = new URL(api.url);
  other.searchParams.set("version", "3.0");
  byId("about").append("Version ", doc.info.version, " · ", h("a", { href: api.url.href }, "OpenAPI 3.1"), " · ", h("a", { href: other.href }, "3.0"), " · ", h("code", {}, api.base));
  const main = byId("main"), list = byId("list");
  byId("state").remove();
  const methods = methodsOf(doc);
  for (const tag of doc.tags ?? []) {
    const own = methods.filter((m) => m.service === tag.name);
    if (own.length === 0) continue;
    main.append(h("section", { "aria-labelledby": anchor("service", tag.name) },
      h("h2", { id: anchor("service", tag.name) }, tag.name), ...prose(tag.description), own.map((m) => methodCard(m, api))));
    list.append(h("h3", {}, link("service", tag.name)), h("ul", {}, own.map((m) => h("li", {}, link("method", m.name, m.short)))));
  }
  if (methods.length === 0) main.append(h("p", {}, "This server has no methods."));
  const schemas = Object.entries(api.schemas.all);
  main.append(h("section", { "aria-labelledby": "schemas" }, h("h2", { id: "schemas" }, "Schemas"), schemas.map(([name, s]) =>
    h("details", { class: "card", id: anchor("schema", name) }, h("summary", {}, h("h3", {}, name)), h("div", { class: "inside" }, ...prose(s.description), api.schemas.fields(s))))));
  list.append(h("h3", {}, h("a", { href: "#schemas" }, "Schemas")), h("ul", {}, schemas.map(([name]) => h("li", {}, link("schema", name)))));
  goTo();
}

/** goTo opens what the address's fragment names. */
function goTo() {
  const id = decodeURIComponent(location.hash.slice(1));
  const target = id && byId(id);
  if (!target) return;
  if (target.tagName === "DETAILS") target.open = true;
  target.scrollIntoView();
}

function filter() {
  const words = byId("filter").value.toLowerCase().split(/\s+/);
  for (const item of byId("list").querySelectorAll("li")) {
    const text = item.textContent.toLowerCase();
    item.hidden = !words.every((w) => text.includes(w));
  }
}

const wide = matchMedia("(min-width: 60rem)");
const fold = () => { byId("contents").open = wide.matches; };
fold();
wide.addEventListener("change", fold);
addEventListener("hashchange", goTo);
byId("list").addEventListener("click", fold); // on a narrow screen the list makes way
byId("filter").addEventListener("input", filter);
load().catch((e) => { byId("state").textContent = "The description cannot be shown: " + e.message; });
