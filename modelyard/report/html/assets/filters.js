// Which stacks, findings and changes show.
for (const stack of stacks) {
  const changes = stack.targets.map(([change]) => data.changes[change]);
  stack.targetNames = new Set(changes.map((change) => change.target));
  stack.patchNames = new Set(changes.flatMap((change) => change.patches));
}
const stacksOfChange = data.changes.map(() => []);
const stacksOfFinding = data.findings.map(() => []);
stacks.forEach((stack, number) => {
  for (const [change] of stack.targets) stacksOfChange[change].push(number);
  for (const [finding] of stack.findings) stacksOfFinding[finding].push(number);
});
const grown = new Set();

function hasName(stack) {
  const words = state.q.toLowerCase().split(/\s+/);
  return words.every((word) => stack.name.toLowerCase().includes(word));
}

function hasStatus(stack) {
  if (state.status === "blocked" || state.status === "unplanned") return stack[state.status];
  return !state.status || stack.status === state.status;
}

function fits(finding) {
  return (!state.severity || finding.severity === state.severity) && (!state.code || finding.code === state.code);
}

/** Stacks by name, status, patch and target, and those of them that have a finding as it is asked for. */
function matching() {
  const asked = state.severity || state.code;
  const first = stacks.map(
    (stack) =>
      hasName(stack) &&
      hasStatus(stack) &&
      (!state.patch || stack.patchNames.has(state.patch)) &&
      (!state.target || stack.targetNames.has(state.target)),
  );
  const both = stacks.map((stack, number) => {
    if (!first[number] || !asked) return first[number];
    return stack.findings.some(([at]) => data.findings[at].part !== "fixed" && fits(data.findings[at]));
  });
  return { first, both };
}

function applyFilters() {
  const { first, both } = matching();
  for (const table of $$("[data-list]")) applyToRows(table, both);
  const changes = applyToChanges(both);
  tell("submissions", applyToSubmissions(both));
  const findings = applyToFindings(first);
  const number = both.filter(Boolean).length;
  tell("stacks", number);
  tell("findings", findings.all);
  tell("new", findings.fresh);
  tell("changes", changes);
  const filtered = FILTERS.some((name) => state[name]);
  $("#match-count").value = filtered ? `${number.toLocaleString("en")} of ${count(stacks.length, "stack")}` : "";
  $("#clear").disabled = !filtered;
  $("#filters-fold").textContent = filtered ? "Filters (on)" : "Filters";
  offerPictures(both);
}

function tell(what, number) {
  for (const place of $$(`[data-count="${what}"]`)) place.textContent = number.toLocaleString("en");
  const none = $(`[data-none="${what}"]`);
  if (none)
    none.hidden =
      number > 0 || (what === "changes" && !data.changes.length) || (what === "findings" && !data.findings.length);
}

/** Rows of stacks that do not match go; of the others, as many stay as the table shows before it is asked for all. */
function applyToRows(table, both) {
  const list = table.dataset.list;
  const cap = grown.has(list) ? Infinity : Number(table.dataset.cap);
  let number = 0;
  for (const row of $$("tr[data-s]", table)) {
    const matches = both[row.dataset.s];
    number += matches;
    row.hidden = !matches;
    row.classList.toggle("over", number > cap);
    const detail = row.nextElementSibling;
    if (detail?.classList.contains("detail")) detail.hidden = !matches || number > cap;
  }
  const more = $(`[data-more="${list}"]`);
  if (more) {
    more.parentElement.hidden = number <= cap;
    more.textContent = `Show all ${number.toLocaleString("en")}`;
  }
  const none = $(`[data-none="${list}"]`);
  if (none) none.hidden = number > 0;
  table.hidden = !number;
}

function applyToChanges(both) {
  let number = 0;
  for (const element of $$("[data-change]")) {
    const change = data.changes[element.dataset.change];
    const matches =
      (!state.patch || change.patches.includes(state.patch)) &&
      (!state.target || change.target === state.target) &&
      stacksOfChange[element.dataset.change].some((stack) => both[stack]);
    element.hidden = !matches;
    number += matches;
  }
  return number;
}

function applyToSubmissions(both) {
  const shown = new Set(stacks.flatMap((stack, number) => (both[number] ? stack.submissions : [])));
  for (const element of $$("[data-submission]")) element.hidden = !shown.has(Number(element.dataset.submission));
  return shown.size;
}

/** Whether one of these stacks matches; what is of no stack is of the whole project. */
function ofSome(numbers, first) {
  return !numbers.length || numbers.some((stack) => first[stack]);
}

function applyToFindings(first) {
  const number = { all: 0, fresh: 0 };
  for (const part of $$(".part")) {
    let some = false;
    for (const family of $$(".family", part)) {
      let any = false;
      for (const element of $$("[data-finding]", family)) {
        const finding = data.findings[element.dataset.finding];
        const matches =
          fits(finding) &&
          (!state.target || !finding.target || finding.target === state.target) &&
          ofSome(stacksOfFinding[element.dataset.finding], first);
        element.hidden = !matches;
        any ||= matches;
        number.all += matches;
        number.fresh += matches && finding.part === "new";
      }
      family.hidden = !any;
      some ||= any;
    }
    part.hidden = !some;
  }
  return number;
}
