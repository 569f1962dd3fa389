// What the reader sees, as the part of the address behind the #: copied, it shows the same to somebody else.
const data = JSON.parse($("#data").textContent);
const stacks = data.stacks;
const numberOf = new Map(stacks.map((stack, number) => [stack.name, number]));

const FILTERS = ["q", "status", "severity", "code", "patch", "target"];
const state = { sort: "", open: new Set(), picture: "" };

function readState() {
  const parameters = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  for (const name of FILTERS) state[name] = parameters.get(name) ?? "";
  state.sort = parameters.get("sort") ?? "";
  state.open = new Set(parameters.getAll("open").filter((name) => numberOf.has(name)));
  state.picture = parameters.get("topology") ?? "";
}

function writeState() {
  const parameters = new URLSearchParams();
  for (const name of [...FILTERS, "sort"]) if (state[name]) parameters.set(name, state[name]);
  for (const name of state.open) parameters.append("open", name);
  if (state.picture) parameters.set("topology", state.picture);
  const text = parameters.toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}
