// Elements are made here and nowhere else. Text is always text: names and
// descriptions come from a document, and nothing in it becomes markup.

/** h makes an element; properties that begin with "on" are listeners. */
export function h(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.flat().filter((c) => c !== undefined && c !== null));
  return e;
}

/** anchor is an id for a name, the same as the fragment that links to it. */
export const anchor = (kind, name) => kind + "-" + encodeURIComponent(name);

/** link leads to the part of this page that anchor names. */
export const link = (kind, name, text) => h("a", { href: "#" + encodeURIComponent(anchor(kind, name)) }, text ?? name);

let ids = 0;

/** freshId is an id that nothing has yet. */
export const freshId = () => "x" + ++ids;

/** prose shows a description, with its paragraphs. */
export function prose(text) {
  return (text ?? "").split(/\n\s*\n/).filter((p) => p.trim()).map((p) => h("p", { class: "prose" }, p.trim()));
}
