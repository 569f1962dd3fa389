// Puts it together.
function readFilters() {
  for (const name of FILTERS) {
    const field = $(`#filters [name=${name}]`);
    if (field.value !== state[name]) field.value = state[name];
    // A value that the page does not offer would filter by what nobody can see.
    state[name] = field.value;
  }
}

function showState() {
  readState();
  readFilters();
  if (stackTable) {
    for (const [number, row] of rowOf) {
      const open = state.open.has(stacks[number].name);
      if (open !== row.classList.contains("opened")) openRow(number, open);
    }
    if (state.sort || $("th[aria-sort]", stackTable)) sortStacks();
  }
  applyFilters();
  showPicture(state.picture);
}

function goTo(hash) {
  const number = Number(/^#stack-(\d+)$/.exec(hash)?.[1] ?? NaN);
  if (rowOf.has(number)) {
    openRow(number, true);
    unhide(number);
    writeState();
    reveal($(".open", rowOf.get(number)));
    return true;
  }
  const element = hash.length > 1 && !hash.includes("=") && document.getElementById(hash.slice(1));
  if (element) reveal(element);
  return Boolean(element);
}

/** A link leads to its stack even where filters or the length of the table hide it. */
function unhide(number) {
  if (rowOf.get(number).hidden) {
    $("#filters").reset();
    for (const name of FILTERS) state[name] = "";
  }
  if (rowOf.get(number).classList.contains("over")) grown.add("stacks");
  applyFilters();
}

function listen() {
  const form = $("#filters");
  let soon = 0;
  form.addEventListener("input", () => {
    cancelAnimationFrame(soon);
    soon = requestAnimationFrame(() => {
      for (const name of FILTERS) state[name] = form.elements[name].value.trim();
      applyFilters();
      writeState();
    });
  });
  form.addEventListener("reset", () => {
    for (const name of FILTERS) state[name] = "";
    applyFilters();
    writeState();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  $("#filters-fold").addEventListener("click", (event) => {
    const open = event.currentTarget.getAttribute("aria-expanded") !== "true";
    event.currentTarget.setAttribute("aria-expanded", String(open));
    form.classList.toggle("unfolded", open);
  });
  document.addEventListener("click", clicked);
  document.addEventListener("toggle", (event) => event.target.open && markWords(event.target), true);
  addEventListener("hashchange", () => (goTo(location.hash) ? null : showState()));
  $("#theme").value = document.documentElement.dataset.theme ?? "";
  $("#theme").addEventListener("change", (event) => setColours(event.target.value));
  $("#help-open").addEventListener("click", () => $("#help").showModal());
  listenToKeys();
  listenToPrint();
}

function clicked(event) {
  const target = event.target.closest("a[href^='#'], [data-more], [data-places], [data-stacks], .open");
  if (!target || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (target.matches("a")) {
    if (goTo(target.getAttribute("href"))) event.preventDefault();
  } else if (target.matches(".open")) {
    openRow(Number(target.closest("tr").dataset.s), target.getAttribute("aria-expanded") !== "true");
    writeState();
  } else if (target.dataset.more) {
    grown.add(target.dataset.more);
    applyFilters();
  } else if (target.dataset.places) {
    tellRest(target, stacksOfFinding[target.dataset.places], Number(target.dataset.places));
  } else {
    tellRest(target, stacksOfChange[target.dataset.stacks], null);
  }
}

/** Names the stacks that were folded away. */
function tellRest(button, numbers, finding) {
  const line = button.closest(".where");
  const told = new Set($$("a[href^='#']", line).map((one) => one.textContent));
  const rest = numbers.filter((number) => !told.has(stacks[number].name));
  const parts = rest.flatMap((number) => {
    const stack = stacks[number];
    const place = placeOf(stack, stack.findings.find(([at]) => at === finding)?.[1] ?? null);
    const name = h("a", { href: `#stack-${number}` }, stack.name);
    return [", ", name, place ? h("span", { class: "loc" }, ` ${place}`) : ""];
  });
  button.closest(".rest").replaceWith(...parts);
  $$("a[href^='#']", line)[told.size]?.focus();
}

/** Paper cannot be clicked: what is folded is printed, and folded again. */
function listenToPrint() {
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = $$("main details:not([open])");
    for (const one of closed) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of closed) one.open = false;
  });
}

if (stackTable) offerSorting();
// What a link leads to must not end up under the bar that stays in view.
new ResizeObserver(([entry]) => {
  document.documentElement.style.setProperty("--dock", `${Math.ceil(entry.borderBoxSize[0].blockSize)}px`);
}).observe($(".dock"));
listen();
showState();
for (const open of $$(".change[open]")) markWords(open);
goTo(location.hash.includes("=") ? "" : location.hash);
document.documentElement.dataset.ready = "";
performance.mark("modelyard-ready");
