// Elements, made and found.
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/** An element with attributes and children; texts become text, so nothing in them is markup. */
function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for SVG. */
function s(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

function icon(name) {
  return s("svg", { class: `icon ${name}`, "aria-hidden": "true" }, s("use", { href: `#i-${name}` }));
}

/** `1 pod`, `2 pods`. */
function count(number, one) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : `${one}s`}`;
}

function moved(before, after) {
  return before === after ? String(after ?? "–") : `${before ?? "–"} → ${after ?? "–"}`;
}

/** What the reader chose last time, where the viewer keeps it. */
const kept = {
  read(key) {
    try {
      return localStorage.getItem(`modelyard-${key}`);
    } catch {
      return null;
    }
  },
  write(key, value) {
    try {
      if (value) localStorage.setItem(`modelyard-${key}`, value);
      else localStorage.removeItem(`modelyard-${key}`);
    } catch {
      // Then it is for this time only.
    }
  },
};

/** Opens whatever folds an element away, brings it into view and gives it the focus. */
function reveal(element) {
  for (let node = element; node; node = node.parentElement) {
    if (node instanceof HTMLDetailsElement) node.open = true;
  }
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
  const handle = element.matches("details") ? $("summary", element) : element;
  if (!handle.matches("a, button, summary, input, select")) handle.tabIndex = -1;
  handle.focus({ preventScroll: true });
}
