// The picture of one stack before and after, and the same in numbers.
const picker = $("#pictured");

function showPicture(name) {
  if (!picker) return;
  const chosen = stacks[numberOf.get(name)]?.topology ? name : "";
  state.picture = chosen;
  const value = chosen || picker.options[0]?.value;
  if (chosen && ![...picker.options].some((option) => option.value === chosen)) {
    picker.append(h("option", { value: chosen }, chosen));
  }
  picker.value = value ?? "";
  draw(stacks[numberOf.get(picker.value)]);
}

/** How much of the picture is different: GPUs that workloads gain or lose, and pods that find no node. */
function difference(stack) {
  const [before, after] = stack.topology.slice(1).map((at) => (at === null ? [] : data.scenes[at].workloads));
  const was = new Map(before.map((one) => [one.name, one]));
  return after.reduce((sum, one) => {
    const old = was.get(one.name) ?? { pods: 0, gpus: 0, pending: 0 };
    return sum + Math.abs(one.pods * one.gpus - old.pods * old.gpus) + Math.abs(one.pending - old.pending);
  }, 0);
}

for (const stack of stacks) stack.difference = stack.topology ? difference(stack) : 0;

/** The stacks that the filters leave, those whose picture changes most first. */
function offerPictures(both) {
  if (!picker) return;
  const offered = stacks
    .filter((stack, number) => both[number] && stack.topology)
    .sort((one, other) => other.difference - one.difference);
  picker.replaceChildren(...offered.map((stack) => h("option", { value: stack.name }, stack.name)));
  if (!offered.length) draw(undefined);
  else showPicture(state.picture);
}

let drawn;
const narrow = matchMedia("(max-width: 620px)");

function draw(stack) {
  if (drawn === (stack ?? null)) return;
  drawn = stack ?? null;
  if (!stack) {
    $("#scenes").replaceChildren(h("p", {}, "No stack matches the filters."));
    $("#loads").replaceChildren();
    $("#steps").replaceChildren();
    return;
  }
  $("#steps").replaceChildren(...timeline(data.steps[stack.name] ?? []));
  const [places, ...scenes] = stack.topology;
  const [before, after] = scenes.map((scene) =>
    scene === null ? null : understood(data.places[places], data.scenes[scene]),
  );
  $("#scenes").replaceChildren(
    figure(
      stack,
      before,
      null,
      "Before",
      stack.status === "added" ? "There is no such stack yet." : "It could not be planned.",
    ),
    figure(
      stack,
      after,
      before,
      "After",
      stack.status === "removed"
        ? "Its stack file is deleted: nothing is sent, and applied changes stay."
        : "It cannot be planned.",
    ),
  );
  $("#loads").replaceChildren(...numbers(before, after));
}

/** The steps of an apply in order, on a line. */
function timeline(steps) {
  if (!steps.length) return [];
  const items = steps.map((step) => {
    const [, head, why] = step.match(/^([^:;]*)[:;] (.*)$/s) ?? ["", step, ""];
    return h("li", {}, h("b", {}, head), " ", why);
  });
  return [h("h3", {}, "Steps of an apply"), h("ol", { class: "timeline" }, ...items)];
}

function figure(stack, scene, other, words, without) {
  const caption = h("figcaption", {}, words, " ", h("span", { class: "dim mono" }, stack.name));
  if (!scene) return h("figure", {}, caption, h("p", {}, without));
  const picture = drawScene(
    scene,
    other,
    `${words} the change`,
    `scene-${words.toLowerCase()}`,
    narrow.matches ? "narrow" : "wide",
  );
  return h("figure", {}, caption, h("div", { class: "canvas" }, picture));
}

function numbers(before, after) {
  const one = after ?? before;
  const used = (scene, at) => (scene ? String(scene.loads[at].used) : "unknown");
  const pods = (scene, name) => {
    if (!scene) return "unknown";
    const found = scene.workloads.find((workload) => workload.name === name);
    return found ? podsWords(found) + (found.pending ? `, ${found.pending} without a node` : "") : "none";
  };
  const names = [
    ...new Set([before, after].flatMap((scene) => scene?.workloads.map((workload) => workload.name) ?? [])),
  ];
  const cards = one.loads.filter((load) => load.gpus);
  return [
    h(
      "details",
      { class: "quiet" },
      h("summary", {}, "In numbers"),
      table(
        ["Workload", "Before", "After"],
        names.map((name) => [name, pods(before, name), pods(after, name)]),
      ),
      cards.length
        ? table(
            ["Nodes", "Card", "GPUs", "Used before", "Used after"],
            cards.map((load) => [
              load.name,
              cardWords(load, "unknown"),
              load.unit === "GPU" ? String(load.gpus) : count(load.gpus, load.unit),
              used(before, load.at),
              used(after, load.at),
            ]),
          )
        : "",
    ),
  ];
}

function table(heads, rows) {
  return h(
    "table",
    { class: "plain" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        heads.map((head) => h("th", { scope: "col" }, head)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map(([first, ...rest]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, first),
          rest.map((text) => h("td", {}, text)),
        ),
      ),
    ),
  );
}

if (picker) {
  narrow.addEventListener("change", () => {
    const stack = drawn;
    drawn = undefined;
    draw(stack ?? undefined);
  });
  picker.addEventListener("change", () => {
    showPicture(picker.value);
    writeState();
  });
}
