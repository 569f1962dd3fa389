// Single keys. They can be switched off, for people whose software types for them.
const SECTIONS = ["summary", "stacks", "findings", "changes", "patches", "gpus", "topology"];

const KEYS = {
  "/": () => $("#filters [name=q]").focus(),
  j: () => step(1),
  k: () => step(-1),
  x: () => $("#clear").click(),
  d: () => switchColours(),
  "?": () => $("#help").showModal(),
};
SECTIONS.forEach((name, number) => (KEYS[number + 1] = () => reveal($(`#${name}`))));

/** To the next or previous item that can be seen, from where the reader is. */
function step(by) {
  const items = $$("[data-item]").filter((item) => item.checkVisibility());
  const active = document.activeElement;
  let at = items.indexOf(active);
  if (at < 0) {
    const before = items.filter(
      (item) => active.compareDocumentPosition(item) & Node.DOCUMENT_POSITION_PRECEDING,
    ).length;
    at = active === document.body ? (by > 0 ? -1 : 0) : by > 0 ? before - 1 : before;
  }
  const next = items[at + by];
  if (!next) return;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function switchColours() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  setColours(now === "dark" ? "light" : "dark");
}

function setColours(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  $("#theme").value = name;
  kept.write("theme", name);
}

function listenToKeys() {
  const on = $("#keys-on");
  on.checked = kept.read("keys") !== "off";
  on.addEventListener("change", () => kept.write("keys", on.checked ? "" : "off"));
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input:not([type=checkbox]), textarea, select");
    if (event.key === "Escape" && event.target.matches("[type=search]")) event.target.blur();
    if (typing || !on.checked || $("dialog[open]") || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
