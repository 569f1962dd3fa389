// The table of stacks: opening a row, and its order.
const stackTable = $(".stacks");
const rowOf = new Map(stackTable ? $$("tr[data-s]", stackTable).map((row) => [Number(row.dataset.s), row]) : []);
const firstOrder = [...rowOf.values()];

const SORTS = {
  name: (stack) => stack.name,
  changes: (stack) => stack.targets.reduce((sum, [change]) => sum + data.changes[change].fields, 0),
  pods: (stack) => stack.pods,
  gpus: (stack) => Math.abs(stack.gpus[1] - stack.gpus[0]) * 1e6 + stack.gpus[1],
  cost: (stack) => stack.cost ?? -Infinity,
  findings: (stack) => -firstOrder.indexOf(rowOf.get(numberOf.get(stack.name))),
};

function openRow(number, open) {
  const row = rowOf.get(number);
  const button = $(".open", row);
  button.setAttribute("aria-expanded", String(open));
  row.classList.toggle("opened", open);
  let detail = row.nextElementSibling?.classList.contains("detail") ? row.nextElementSibling : null;
  if (open && !detail) {
    const cell = h("td", { colspan: $$("thead th", stackTable).length }, detailOf(number));
    row.after((detail = h("tr", { class: "detail" }, cell)));
    markWords(detail);
  } else if (!open && detail) {
    detail.remove();
  }
  if (open) state.open.add(stacks[number].name);
  else state.open.delete(stacks[number].name);
}

/** Everything about one stack: its targets with their fields, and its findings. */
function detailOf(number) {
  const stack = stacks[number];
  const targets = stack.targets.map((target) => targetOf(target));
  return h(
    "div",
    { class: "about" },
    h(
      "p",
      { class: "where" },
      h("span", { class: "loc" }, stack.file),
      stack.topology ? [" · ", pictureLink(stack)] : "",
    ),
    findingsOf(stack, "new"),
    findingsOf(stack, "waived"),
    findingsOf(stack, "relaxed"),
    targets.length ? h("h3", {}, count(targets.length, "target")) : "",
    targets,
    stack.submissions.length ? h("h3", {}, "For the next apply or submission") : "",
    stack.submissions.map((number) => submissionOf(number)),
    stack.about.length ? h("h3", {}, "Cost") : "",
    stack.about.map((text) => h("p", { class: "where" }, text)),
    findingsOf(stack, "fixed"),
    findingsOf(stack, "still"),
  );
}

function pictureLink(stack) {
  const link = h("button", { type: "button", class: "link" }, "topology");
  link.addEventListener("click", () => {
    showPicture(stack.name);
    writeState();
    reveal($("#topology"));
  });
  return link;
}

function targetOf([change, pods, replicasBefore, replicasAfter, gpusBefore, gpusAfter]) {
  const told = $(`#change-${change}`);
  const facts = [`replicas ${moved(replicasBefore, replicasAfter)}`];
  if (replicasBefore === null && replicasAfter === null) facts[0] = "replicas not set by the stack";
  if (gpusBefore || gpusAfter) facts.push(`GPUs ${moved(gpusBefore, gpusAfter)}`);
  if (pods) facts.push(`${count(pods, "pod")} replaced`);
  const summary = h(
    "summary",
    {},
    $("summary .mark", told).cloneNode(true),
    $("summary .target", told).cloneNode(true),
    " ",
    h("span", { class: "dim" }, [data.changes[change].kind, data.changes[change].status, ...facts].join(" · ")),
  );
  const body = $$(":scope > .versions, :scope > .diff, :scope > .same", told).map((part) => part.cloneNode(true));
  return h("details", { class: "change", open: true }, summary, body);
}

function submissionOf(number) {
  const copy = $(`#submission-${number}`).cloneNode(true);
  copy.removeAttribute("id");
  copy.removeAttribute("data-submission");
  copy.hidden = false;
  $("summary", copy).removeAttribute("data-item");
  $(".where", copy).remove();
  copy.open = true;
  return copy;
}

const PARTS = {
  new: "New findings",
  waived: "Newly waived findings",
  relaxed: "Findings no longer checked, or less severe",
  fixed: "Fixed findings",
  still: "Findings that are still there",
};
const OPEN_PARTS = ["new", "waived", "relaxed"];

function findingsOf(stack, part) {
  const own = stack.findings.filter(([number]) => data.findings[number].part === part);
  if (!own.length) return "";
  const items = own.map(([number, where]) => {
    const finding = data.findings[number];
    const told = $$(`#finding-${number} > p:not(.where)`).map((line) => line.cloneNode(true));
    const head = told.shift();
    head.prepend(icon(part === "fixed" ? "fixed" : finding.severity), link(finding.code, `#finding-${number}`), " ");
    return h("li", {}, head, told, h("p", { class: "where loc" }, placeOf(stack, where)));
  });
  return h(
    "details",
    { class: "family", open: OPEN_PARTS.includes(part) },
    h("summary", {}, h("h3", {}, PARTS[part]), " ", h("span", { class: "n" }, String(own.length))),
    h("ul", {}, items),
  );
}

/** The file and line of a finding: its stack's own file is not told again in the data, null is none at all. */
function placeOf(stack, where) {
  if (where === null) return "";
  return where === "" || where.startsWith(":") ? stack.file + where : where;
}

function link(text, target) {
  return h("a", { href: target, class: "code" }, text);
}

function sortStacks() {
  const descending = state.sort.startsWith("-");
  const key = SORTS[state.sort.replace("-", "")];
  for (const head of $$("th[data-sort]", stackTable)) {
    const own = key && head.dataset.sort === state.sort.replace("-", "");
    if (own) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  let rows = firstOrder;
  if (key) {
    const values = new Map(firstOrder.map((row) => [row, key(stacks[row.dataset.s])]));
    const sign = descending ? -1 : 1;
    rows = [...firstOrder].sort((one, other) => {
      const [a, b] = [values.get(one), values.get(other)];
      return a < b ? -sign : a > b ? sign : 0;
    });
  }
  const parts = rows.flatMap((row) => {
    const detail = row.nextElementSibling;
    return detail?.classList.contains("detail") ? [row, detail] : [row];
  });
  $("tbody", stackTable).append(...parts);
}

/** Turns the heads of the table into buttons; numbers start with the largest. */
function offerSorting() {
  for (const head of $$("th[data-sort]", stackTable)) {
    const name = head.dataset.sort;
    const button = h("button", { type: "button", class: "sort" }, head.textContent);
    button.addEventListener("click", () => {
      const [first, second] = name === "name" ? [name, `-${name}`] : [`-${name}`, name];
      state.sort = state.sort === first ? second : state.sort === second ? "" : first;
      sortStacks();
      applyFilters();
      writeState();
    });
    head.replaceChildren(button);
  }
}
