// One scene of the topology as SVG: queues, workloads, nodes, from left to right.
const ROLES = {
  apiServer: "API server",
  modelService: "Model service",
  rayHead: "Ray head",
  rayWorker: "Ray workers",
  celery: "Celery tasks",
};
/** Left edge and width of each column. Where the page is narrow, a queue is told in the box that it feeds. */
const LAYOUTS = {
  wide: { width: 640, queue: [0, 164], workload: [206, 204], place: [452, 188] },
  narrow: { width: 352, queue: null, workload: [0, 172], place: [210, 142] },
};
/** Fonts of the lines as topology.css has them, in units of the drawing. Facts may become bold. */
const FONTS = { name: "600 12px", small: "400 11px", fact: "600 11.5px" };
const PADDING = 10;
const LINE = 15;
const SLOT = 13;

/** What runs where, with the numbers that the drawing and the tables show. */
function understood(places, scene) {
  const workloads = scene.workloads.map((one) => ({
    ...one,
    on: new Map(one.on),
    title: ROLES[one.role] ?? "Deployment",
  }));
  const loads = places.map((place, at) => {
    const parts = workloads
      .map((one) => ({ role: one.role, title: one.title, gpus: (one.on.get(at) ?? 0) * one.gpus }))
      .filter((part) => part.gpus);
    if (place.others) parts.push({ role: "others", title: "other pods", gpus: place.others });
    return { ...place, at, parts, used: parts.reduce((sum, part) => sum + part.gpus, 0) };
  });
  return { queues: scene.queues, workloads, loads };
}

function podsWords(one, was) {
  const pods =
    one.most === null ? count(one.pods, "pod") : `${one.pods} to ${count(Math.max(one.most, one.pods), "pod")}`;
  const before = was !== undefined && was !== one.pods ? `, was ${was}` : "";
  return pods + (one.gpus ? ` × ${count(one.gpus, one.unit)}` : "") + before;
}

/** The card, and of a slice with a name of its own that name. */
function cardWords(load, without) {
  const own = load.resource === "nvidia.com/gpu" ? "" : ` ${load.resource.replace(/^nvidia\.com\//, "")}`;
  return (load.product || without) + own;
}

function usedWords(load, was) {
  return `${load.used} of ${count(load.gpus, load.unit)} used${was !== undefined && was !== load.used ? `, was ${was}` : ""}`;
}

function queueWords(queue) {
  return queue.backend === "ray" ? "Ray tasks" : "Celery queue";
}

/** Draws a scene; `other` is the scene before it, to say what is different. */
function drawScene(scene, other, title, key, layout) {
  const columns = LAYOUTS[layout];
  const training = new Set(scene.queues.map((queue) => queue.workload));
  const upper = scene.workloads.filter((one) => one.gpus || training.has(one.name));
  const order = (one) => scene.queues.findIndex((queue) => queue.workload === one.name);
  upper.sort((one, next) => (order(one) + 1 || 99) - (order(next) + 1 || 99));
  const lower = scene.workloads.filter((one) => !upper.includes(one));
  const cards = scene.loads.filter((load) => load.gpus);
  const bare = scene.loads.filter((load) => !load.gpus);

  const boxes = [];
  const edges = [];
  const left = stacked(
    columns.workload,
    4,
    upper.map((one) => workloadBox(one, scene, other, columns)),
  );
  const right = stacked(
    columns.place,
    4,
    cards.map((load) => placeBox(load, other, columns)),
  );
  const start = Math.max(left.end, right.end) + 8;
  const below = stacked(
    columns.workload,
    start,
    lower.map((one) => workloadBox(one, scene, other, columns)),
  );
  boxes.push(...left.shapes, ...right.shapes, ...below.shapes);

  const from = columns.workload[0] + columns.workload[1];
  const to = columns.place[0];
  upper.forEach((one, row) => {
    cards.forEach((load, at) => {
      const pods = one.on.get(load.at);
      if (pods) edges.push(edge([from, left.middles[row]], [to, right.middles[at]], one.role, String(pods)));
    });
  });
  if (columns.queue) {
    for (const queue of scene.queues) {
      const row = upper.findIndex((one) => one.name === queue.workload);
      if (row < 0) continue;
      const y = left.middles[row];
      const words = queue.takesNew ? "new jobs come here" : "no new jobs";
      const lines = [
        line(queueWords(queue), "name"),
        line(queue.name, "small"),
        ...facts(words, "fact", columns.queue),
      ];
      const content = { kind: `queue ${queue.takesNew ? "" : "idle"}`, lines };
      boxes.push(box(columns.queue, y - heightOf(content) / 2, content));
      edges.push(
        edge([columns.queue[0] + columns.queue[1], y], [columns.workload[0], y], queue.takesNew ? "feeds" : "idle"),
      );
    }
  }
  if (lower.length && bare.length) {
    const nodes = bare.reduce((sum, load) => sum + load.nodes, 0);
    const names = bare.map((load) => load.name).join(", ");
    const lines =
      nodes === 1
        ? [line(names, "name"), line("no GPU", "small")]
        : [line(`${nodes} nodes, no GPU`, "name"), line(names, "small")];
    const y = (start + below.end - 12) / 2;
    boxes.push(box(columns.place, y - 22, { kind: "place", lines }));
    lower.forEach((one, row) => {
      if (bare.some((load) => one.on.get(load.at))) edges.push(edge([from, below.middles[row]], [to, y], "plain"));
    });
  }

  const about = [`${title}.`, ...sentences(scene)].join(" ");
  return s(
    "svg",
    { viewBox: `-2 0 ${columns.width + 4} ${below.end}`, role: "img", "aria-labelledby": `${key}-title ${key}-about` },
    s("title", { id: `${key}-title` }, title),
    s("desc", { id: `${key}-about` }, about),
    edges,
    boxes,
  );
}

function line(text, kind) {
  return { text, kind };
}

/** What must be read in full: broken at words into as many lines as it needs. */
function facts(text, kind, [, width]) {
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && widthOf(longer, kind) <= width - 2 * PADDING) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.map((one) => line(one, kind));
}

const pen = document.createElement("canvas").getContext("2d");

/** How wide a text is drawn. */
function widthOf(text, kind) {
  pen.font = `${FONTS[kind.split(" ")[0]]} ${getComputedStyle(document.documentElement).getPropertyValue("--sans")}`;
  return pen.measureText(text).width;
}

function workloadBox(one, scene, other, columns) {
  const was = other && (other.workloads.find((before) => before.name === one.name)?.pods ?? 0);
  const lines = [
    line(one.title, "name"),
    line(one.name, "small"),
    ...facts(podsWords(one, was ?? undefined), "fact", columns.workload),
  ];
  const queue = scene.queues.find((each) => each.workload === one.name);
  if (queue && !columns.queue)
    lines.push(
      ...facts(`${queueWords(queue)}: ${queue.takesNew ? "new jobs" : "no new jobs"}`, "fact", columns.workload),
    );
  if (one.pending) lines.push(...facts(`${one.pending} without a node`, "fact bad", columns.workload));
  return { kind: `${one.role} ${one.pods ? "" : "idle"} ${other && was !== one.pods ? "differs" : ""}`, lines };
}

function placeBox(load, other, columns) {
  const was = other?.loads.find((before) => before.at === load.at)?.used;
  const lines = [
    line(load.name, "name"),
    line(cardWords(load, "unknown GPU") + (load.cordoned ? ", cordoned" : ""), "small"),
    ...facts(usedWords(load, was), "fact", columns.place),
  ];
  return { kind: `place ${other && was !== load.used ? "differs" : ""}`, lines, load };
}

/** Boxes below each other: their shapes, the middles of their sides, and where the next would start. */
function stacked(column, top, contents) {
  const shapes = [];
  const middles = [];
  let y = top;
  for (const content of contents) {
    const height = heightOf(content);
    shapes.push(box(column, y, content));
    middles.push(y + height / 2);
    y += height + 12;
  }
  return { shapes, middles, end: y };
}

function heightOf({ lines, load }) {
  return 14 + lines.length * LINE + (load ? SLOT + 6 : 0);
}

function box([x, width], y, content) {
  const texts = content.lines.map((one, at) =>
    fitted(one, width - 2 * PADDING, { x: x + PADDING, y: y + 18 + at * LINE, class: one.kind }),
  );
  const held = content.load
    ? slots(content.load, x + PADDING, y + 12 + content.lines.length * LINE, width - 2 * PADDING)
    : "";
  return s(
    "g",
    { class: `box ${content.kind}` },
    s("rect", { x, y, width, height: heightOf(content), rx: 4 }),
    texts,
    held,
  );
}

/** A text that fits so many units, cut in its middle; the whole one shows on pointing at it. */
function fitted({ text, kind }, room, attributes) {
  let short = text;
  for (let most = text.length - 1; widthOf(short, kind) > room && most > 1; most--) {
    short = `${text.slice(0, Math.ceil(most / 2))}…${text.slice(text.length - Math.floor(most / 2))}`;
  }
  return s("text", attributes, short, short === text ? "" : s("title", {}, text));
}

function edge([x, y], [toX, toY], kind, label) {
  const middle = (x + toX) / 2;
  const path = s("path", { class: `edge ${kind}`, d: `M${x} ${y}C${middle} ${y} ${middle} ${toY} ${toX} ${toY}` });
  if (!label) return path;
  return s("g", {}, path, s("text", { class: "label", x: toX - 6, y: toY - 5, "text-anchor": "end" }, label));
}

/** A square a GPU, or slice, with the letter of who holds it; of many, shares of a bar. */
function slots(load, x, y, width) {
  if (load.gpus * (SLOT + 1) > width) return share(load, x, y, width);
  const holders = load.parts.flatMap((part) => Array(part.gpus).fill(part));
  return s(
    "g",
    {},
    Array.from({ length: load.gpus }, (_, at) => {
      const part = holders[at];
      const left = x + at * (SLOT + 1);
      return s(
        "g",
        { class: `slot ${part?.role || "free"}` },
        s("rect", { x: left, y, width: SLOT, height: SLOT, rx: 2 }),
        part ? s("text", { x: left + SLOT / 2, y: y + 10, "text-anchor": "middle" }, part.title[0]) : "",
        s("title", {}, part ? part.title : "free"),
      );
    }),
  );
}

function share(load, x, y, width) {
  let left = x;
  const parts = load.parts.map((part) => {
    const own = (part.gpus / load.gpus) * width;
    const shape = s(
      "rect",
      { class: `slot ${part.role}`, x: left, y, width: own, height: SLOT },
      s("title", {}, `${part.title} ${part.gpus}`),
    );
    left += own;
    return shape;
  });
  return s("g", {}, s("rect", { class: "slot free", x, y, width, height: SLOT }), parts);
}

/** The same in words. */
function sentences({ queues, workloads, loads }) {
  return [
    ...queues.map(
      (queue) =>
        `${queueWords(queue)} ${queue.name} ${queue.takesNew ? "gets new jobs" : "gets no new jobs"} and feeds ${queue.workload}.`,
    ),
    ...workloads.map(
      (one) => `${one.title} ${one.name}: ${podsWords(one)}${one.pending ? `, ${one.pending} without a node` : ""}.`,
    ),
    ...loads
      .filter((load) => load.gpus)
      .map((load) => `${load.name} with ${cardWords(load, "unknown GPUs")}: ${usedWords(load)}.`),
  ];
}
