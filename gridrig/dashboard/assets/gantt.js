// Gantt charts of finished runs. The server sends the jobs of the part that is
// shown one by one, or, where they are many, how full each cell of a grid is.
import { openJob } from "/assets/drawer.js";

const sections = [...document.querySelectorAll("section.gantt")];
const form = document.getElementById("window");
const charts = sections.map((section) => ({
  section,
  run: section.dataset.run,
  name: section.dataset.name,
  stage: section.querySelector(".stage"),
  canvas: section.querySelector("canvas"),
  told: section.querySelector(".told"),
  numbers: section.querySelector(".numbers .scroll"),
  part: null,
  brush: null,
}));
// The part of time that all charts show, in seconds; null is the whole run.
let shown = null;
let end = 0;
let asking = null;

const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });
const whole = new Intl.NumberFormat("en");
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

function ends() {
  return shown ?? [0, end || 1];
}

function parse(text) {
  const value = Number(String(text).replaceAll(",", "").trim() || NaN);
  return Number.isFinite(value) ? value : null;
}

/** Shows a part, within the run and not shorter than a millisecond. */
function show(from, to) {
  const length = Math.min(Math.max(to - from, 1e-3), end || to);
  const first = Math.min(Math.max(from, 0), Math.max((end || to) - length, 0));
  shown = length >= end && end > 0 ? null : [first, first + length];
  load();
}

function zoom(factor, at = 0.5) {
  const [from, to] = ends();
  const length = (to - from) * factor;
  const middle = from + (to - from) * at;
  show(middle - length * at, middle + length * (1 - at));
}

function move(share) {
  const [from, to] = ends();
  const by = (to - from) * share;
  show(from + by, to + by);
}

function act(what) {
  if (what === "in") zoom(0.5);
  if (what === "out") zoom(2);
  if (what === "left") move(-0.25);
  if (what === "right") move(0.25);
  if (what === "all") { shown = null; load(); }
}

async function load() {
  asking?.abort();
  const asked = new AbortController();
  asking = asked;
  const query = shown ? `&from=${shown[0]}&to=${shown[1]}` : "";
  // All charts have one axis: the first answers say where the last run ends.
  await Promise.all(charts.map(async (chart) => {
    try {
      const span = query || (end ? `&from=0&to=${end}` : "");
      const answer = await fetch(`/api/gantt?run=${encodeURIComponent(chart.run)}${span}`, { signal: asked.signal });
      const document = await answer.json();
      if (!answer.ok) throw new Error(document.detail);
      chart.part = document;
    } catch (error) {
      if (asked.signal.aborted) return;
      chart.part = null;
      chart.told.textContent = error.message;
      chart.told.classList.add("bad");
    }
  }));
  if (asked.signal.aborted) return;
  const last = Math.max(0, ...charts.map((chart) => chart.part?.end_s ?? 0));
  if (last !== end) {
    end = last;
    if (!shown && charts.some((chart) => chart.part && chart.part.to_s !== end)) { await load(); return; }
  }
  const [from, to] = ends();
  form.elements.from.value = Number(from.toFixed(3));
  form.elements.to.value = Number(to.toFixed(3));
  const address = new URL(location.href);
  for (const [name, value] of [["from", from], ["to", to]]) {
    if (shown) address.searchParams.set(name, String(Number(value.toFixed(6))));
    else address.searchParams.delete(name);
  }
  history.replaceState(null, "", address);
  for (const chart of charts) { if (chart.part) { tell(chart); draw(chart); tables(chart); } }
  document.body.dataset.ready = String(Number(document.body.dataset.ready ?? 0) + 1);
}

// ---------------------------------------------------------------- drawing

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { bg: of("--bg"), ink: of("--ink"), mut: of("--mut"), grid: of("--grid"), axis: of("--axis"), here: of("--p0"), away: of("--p1"), sans: of("--sans") };
}

/** Stripes, so that jobs elsewhere stand out without their colour. */
function hatched(context, colour, ground) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const inner = tile.getContext("2d");
  inner.fillStyle = colour;
  inner.fillRect(0, 0, 6, 6);
  inner.strokeStyle = ground;
  inner.lineWidth = 1.6;
  inner.beginPath();
  for (const at of [-6, 0, 6]) { inner.moveTo(at, 6); inner.lineTo(at + 6, 0); }
  inner.stroke();
  return context.createPattern(tile, "repeat");
}

function layout(chart) {
  const box = chart.canvas.getBoundingClientRect();
  const left = box.width < 520 ? 48 : 84;
  return { width: box.width, height: box.height, left, right: 10, top: 8, bottom: 30 };
}

function draw(chart) {
  const { canvas, part } = chart;
  const area = layout(chart);
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(area.width * scale);
  canvas.height = Math.round(area.height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  const colour = colours();
  const inside = { w: area.width - area.left - area.right, h: area.height - area.top - area.bottom };
  const x = (at) => area.left + ((at - part.from_s) / (part.to_s - part.from_s)) * inside.w;
  const y = (processor) => area.top + (processor / Math.max(part.processors, 1)) * inside.h;
  context.font = `11px ${colour.sans}`;
  context.lineWidth = 1;
  ticks(context, part, area, inside, x, colour);
  const away = hatched(context, colour.away, colour.bg);
  if (part.picture.mode === "boxes") boxes(context, chart, x, y, colour, away);
  else bins(context, part.picture, area, inside, colour, away);
  clusters(context, part, area, y, colour);
  context.strokeStyle = colour.axis;
  context.strokeRect(area.left, area.top, inside.w, inside.h);
  if (chart.brush) {
    const [a, b] = [Math.min(...chart.brush), Math.max(...chart.brush)];
    context.globalAlpha = 0.18;
    context.fillStyle = colour.ink;
    context.fillRect(a, area.top, b - a, inside.h);
    context.globalAlpha = 1;
  }
}

function boxes(context, chart, x, y, colour, away) {
  chart.hits = [];
  for (const [job, from, to, first, count, marks] of chart.part.picture.boxes) {
    // What is large enough shows where it ends.
    const shorter = (size) => Math.max(size > 4 ? size - 0.8 : size, 1);
    const left = x(from);
    const box = [left, y(first), shorter(x(to) - left), shorter(y(first + count) - y(first))];
    context.fillStyle = marks & 1 ? away : colour.here;
    context.fillRect(...box);
    if (marks & 6 && box[2] > 3 && box[3] > 3) {
      context.strokeStyle = colour.ink;
      context.setLineDash(marks & 4 ? [3, 2] : []);
      context.strokeRect(box[0] + 0.5, box[1] + 0.5, box[2] - 1, box[3] - 1);
      context.setLineDash([]);
    }
    chart.hits.push([box, job]);
  }
}

function bins(context, picture, area, inside, colour, away) {
  const wide = inside.w / picture.columns;
  const high = inside.h / picture.lines.length;
  picture.lines.forEach((line, row) => {
    for (let column = 0; column < line.length; column += 1) {
      const code = line.charCodeAt(column) - 35;
      if (code === 0) continue;
      const place = [area.left + column * wide, area.top + row * high, wide + 0.3, high + 0.3];
      const [here, gone] = [Math.floor(code / 9), code % 9];
      if (here) { context.globalAlpha = 0.15 + 0.85 * (here / 8); context.fillStyle = colour.here; context.fillRect(...place); }
      if (gone) {
        // A cell that both cover shows the one above the other.
        const share = here ? gone / (here + gone) : 1;
        context.globalAlpha = 0.25 + 0.75 * (gone / 8);
        context.fillStyle = away;
        context.fillRect(place[0], place[1] + place[3] * (1 - share), place[2], place[3] * share);
      }
    }
  });
  context.globalAlpha = 1;
}

function clusters(context, part, area, y, colour) {
  context.textBaseline = "middle";
  context.textAlign = "right";
  let last = -Infinity;
  for (const cluster of part.clusters) {
    const [top, bottom] = [y(cluster.first), y(cluster.first + cluster.processors)];
    const middle = (top + bottom) / 2;
    const named = middle - last >= 13;
    // Lines between rows that are hardly higher than a line would cover them.
    const roomy = bottom - top >= 6;
    if (named || roomy) {
      context.strokeStyle = colour.axis;
      context.beginPath();
      context.moveTo(area.left - 4, roomy ? top : middle);
      context.lineTo(roomy ? area.width - area.right : area.left, roomy ? top : middle);
      context.stroke();
    }
    if (!named) continue;
    last = middle;
    context.fillStyle = colour.ink;
    context.fillText(fitted(context, cluster.name, area.left - 12), area.left - 7, middle);
  }
}

function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let cut = text;
  while (cut.length > 1 && context.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
  return `${cut}…`;
}

function unit(length) {
  if (length < 300) return ["s", 1];
  if (length < 4 * 3600) return length < 1800 ? ["s", 1] : ["min", 60];
  return length < 4 * 86400 ? ["h", 3600] : ["d", 86400];
}

function ticks(context, part, area, inside, x, colour) {
  const length = part.to_s - part.from_s;
  const [name, size] = unit(length);
  const wanted = Math.max(Math.floor(inside.w / 90), 2);
  const rough = length / size / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) * size;
  context.textBaseline = "top";
  context.textAlign = "center";
  for (let n = Math.ceil(part.from_s / step); n * step <= part.to_s; n += 1) {
    const at = x(n * step);
    context.strokeStyle = colour.grid;
    context.beginPath();
    context.moveTo(at, area.top);
    context.lineTo(at, area.top + inside.h + 4);
    context.stroke();
    context.fillStyle = colour.mut;
    const text = `${number.format((n * step) / size)} ${name}`;
    const half = context.measureText(text).width / 2;
    if (at + half < area.width) context.fillText(text, Math.max(at, half + 2), area.top + inside.h + 8);
  }
}

// ------------------------------------------------------------------ words

function tell(chart) {
  const { part } = chart;
  const forwarded = part.clusters.reduce((sum, cluster) => sum + cluster.forwarded, 0);
  const how = part.picture.mode === "boxes" ? "each is drawn" : "drawn as cells: zoom in to see single jobs";
  const never = part.never_ran ? ` ${whole.format(part.never_ran)} jobs of the run never ran.` : "";
  chart.base = `${whole.format(part.jobs_shown)} of ${whole.format(part.jobs)} jobs ran between ${number.format(part.from_s)} s and ${number.format(part.to_s)} s, ${whole.format(forwarded)} of them ${part.elsewhere}; ${how}.${never}`;
  chart.told.classList.remove("bad");
  chart.told.textContent = chart.base;
  chart.canvas.setAttribute("aria-label", `Gantt chart of ${chart.name}. ${chart.base}`);
}

function table(caption, heads, rows) {
  const element = document.createElement("table");
  element.createCaption().textContent = caption;
  const head = element.createTHead().insertRow();
  for (const [text, numeric] of heads) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = text;
    if (numeric) cell.className = "num";
    head.append(cell);
  }
  const body = element.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    row.forEach((value, index) => {
      const cell = line.insertCell();
      if (value instanceof Node) cell.append(value); else cell.textContent = value;
      if (heads[index][1]) cell.className = "num";
    });
  }
  return element;
}

function tables(chart) {
  const { part } = chart;
  const used = table(
    "Clusters in the part that is shown",
    [["cluster"], ["processors", 1], ["jobs", 1], [part.elsewhere, 1], ["busy", 1]],
    part.clusters.map((c) => [c.name, whole.format(c.processors), whole.format(c.jobs), whole.format(c.forwarded), c.busy === null ? "n/a" : percent.format(c.busy)]),
  );
  const parts = [used];
  if (part.picture.mode === "boxes") {
    const lines = part.picture.jobs;
    const more = part.jobs_shown > lines.length ? `, the first ${lines.length} of ${whole.format(part.jobs_shown)}` : "";
    parts.push(table(
      `Jobs by start${more}`,
      [["job"], ["cluster"], ["submitted at"], ["processors", 1], ["start, s", 1], ["end, s", 1], ["wait, s", 1]],
      lines.map((job) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = `job ${job.job}`;
        button.addEventListener("click", () => openJob(job.job, chart.run));
        const where = job.clusters > 1 ? `${job.cluster} and ${job.clusters - 1} more` : job.cluster;
        return [button, where, job.forwarded ? `${job.origin} (${part.elsewhere})` : job.origin, whole.format(job.processors), `${number.format(job.start_s)}${job.start_reserved ? " (reserved)" : ""}`, number.format(job.end_s), number.format(job.wait_s)];
      }),
    ));
  }
  chart.numbers.replaceChildren(...parts);
}

// ----------------------------------------------------------------- hands

function at(chart, event) {
  const box = chart.canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function hit(chart, [px, py]) {
  if (chart.part?.picture.mode !== "boxes") return null;
  const found = (chart.hits ?? []).filter(([[x, y, w, h]]) => px >= x - 1 && px <= x + w + 1 && py >= y && py <= y + h);
  return found.length ? found.at(-1)[1] : null;
}

function seconds(chart, px) {
  const area = layout(chart);
  const share = (px - area.left) / (area.width - area.left - area.right);
  return chart.part.from_s + Math.min(Math.max(share, 0), 1) * (chart.part.to_s - chart.part.from_s);
}

for (const chart of charts) {
  chart.canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !chart.part) return;
    const [px] = at(chart, event);
    chart.brush = [px, px];
    chart.canvas.setPointerCapture(event.pointerId);
  });
  chart.canvas.addEventListener("pointermove", (event) => {
    if (!chart.part) return;
    const place = at(chart, event);
    if (chart.brush) {
      chart.brush[1] = place[0];
      draw(chart);
      return;
    }
    const job = hit(chart, place);
    chart.canvas.classList.toggle("over", job !== null);
    chart.told.textContent = job === null ? chart.base : `job ${job} · ${number.format(seconds(chart, place[0]))} s · click for its events`;
  });
  chart.canvas.addEventListener("pointerleave", () => { if (chart.part) chart.told.textContent = chart.base; });
  chart.canvas.addEventListener("pointerup", (event) => {
    if (!chart.brush) return;
    const [a, b] = chart.brush;
    chart.brush = null;
    if (Math.abs(b - a) > 5) {
      show(seconds(chart, Math.min(a, b)), seconds(chart, Math.max(a, b)));
      return;
    }
    draw(chart);
    const job = hit(chart, at(chart, event));
    if (job !== null) openJob(job, chart.run);
  });
  chart.canvas.addEventListener("pointercancel", () => { chart.brush = null; if (chart.part) draw(chart); });
  chart.canvas.addEventListener("dblclick", () => act("all"));
  chart.stage.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const what = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Home: "all" }[event.key];
    if (!what) return;
    event.preventDefault();
    act(what);
  });
}

if (form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const [from, to] = [parse(form.elements.from.value), parse(form.elements.to.value)];
    if (from === null || to === null || to <= from) {
      form.elements.to.setCustomValidity("from and to: seconds, the first below the second");
      form.elements.to.reportValidity();
      return;
    }
    show(from, to);
  });
  form.addEventListener("input", () => form.elements.to.setCustomValidity(""));
  form.addEventListener("click", (event) => { if (event.target.dataset.do) act(event.target.dataset.do); });
  const [from, to] = [parse(form.elements.from.value), parse(form.elements.to.value)];
  if (from !== null && to !== null && from < to) shown = [from, to];
  const redraw = () => { for (const chart of charts) if (chart.part) draw(chart); };
  addEventListener("resize", redraw);
  addEventListener("themechange", redraw);
  load();
}
