// Jobs over time, stacked: running below, then queued, then with brokers.
import { clock, count, el, table } from "/assets/format.js";

// Position in a row of the stream, name, colour; from the bottom up.
const LAYERS = [
  { at: 3, name: "running", colour: "--p0", swatch: "s0" },
  { at: 2, name: "queued in clusters", colour: "--p4", swatch: "s1" },
  { at: 1, name: "with brokers", colour: "--p3", swatch: "s2" },
];

// Steps of the time axis, in seconds, and the units that its labels have.
const STEPS = [1e-3, 1e-2, 0.1, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
  86400, 172800, 432000, 864000, 1728000, 4320000, 8640000, 31536000];
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

// All labels of the axis in one unit: the largest of which there are two.
const times = (ticks) => {
  const last = ticks[ticks.length - 1] ?? 0;
  const [size, unit] = UNITS.find(([size]) => last >= 2 * size) ?? [1, "s"];
  return ticks.map((t) => `${Number((t / size).toFixed(3))} ${unit}`);
};

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Course {
  constructor(place, data) {
    this.place = place;
    this.data = data;
    this.rows = [];
    this.values = LAYERS.map(() => el("b", {}));
    this.legend = el("ul", { class: "legend" }, ...LAYERS.map((layer, i) =>
      el("li", {}, el("span", { class: `swatch ${layer.swatch}` }), `${layer.name} `, this.values[i])));
    place.after(this.legend);
    addEventListener("themechange", () => this.draw());
    new ResizeObserver(() => this.resize()).observe(place);
    data.addEventListener("toggle", () => this.fill());
  }

  update({ from, rows }) {
    if (rows.length === 0 && from === this.rows.length) return;
    this.rows.length = Math.min(this.rows.length, from);
    this.rows.push(...rows);
    if (this.plot) this.plot.setData(this.stacked()); else this.draw();
    this.fill();
  }

  stacked() {
    const sums = this.rows.map((row) => {
      let sum = 0;
      return LAYERS.map((layer) => (sum += row[layer.at]));
    });
    // The highest first: each covers the lower part of the one before it.
    return [this.rows.map((row) => row[0]), ...LAYERS.map((_, i) => sums.map((sum) => sum[LAYERS.length - 1 - i]))];
  }

  size() {
    return { width: Math.max(200, this.place.clientWidth), height: this.place.clientHeight || 250 };
  }

  resize() {
    if (this.plot) this.plot.setSize(this.size());
  }

  draw() {
    if (this.rows.length === 0) return;
    this.plot?.destroy();
    const axis = { stroke: css("--mut"), font: "12px system-ui, sans-serif",
      grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--grid"), width: 1 } };
    const layers = [...LAYERS].reverse();
    this.plot = new uPlot({
      ...this.size(),
      legend: { show: false },
      cursor: { y: false, points: { show: false } },
      scales: { x: { time: false }, y: { range: (_, __, max) => [0, Math.max(1, max * 1.05)] } },
      axes: [
        { ...axis, values: (_, ticks) => times(ticks), incrs: STEPS, space: 64 },
        { ...axis, size: 56, values: (_, ticks) => ticks.map((n) => (Number.isInteger(n) ? count(n) : "")), label: "jobs",
          labelFont: "12px system-ui, sans-serif", labelSize: 18 },
      ],
      series: [{}, ...layers.map((layer) => ({
        label: layer.name, stroke: css(layer.colour), fill: css(layer.colour), width: 1,
        paths: uPlot.paths.stepped({ align: 1 }), points: { show: false },
      }))],
      hooks: { setCursor: [() => this.read()], setData: [() => this.read()] },
    }, this.stacked(), this.place);
    this.read();
  }

  // The figures under the cursor, else the newest.
  read() {
    const at = this.plot?.cursor.idx ?? this.rows.length - 1;
    const row = this.rows[at] ?? this.rows[this.rows.length - 1];
    if (!row) return;
    LAYERS.forEach((layer, i) => { this.values[i].textContent = count(row[layer.at]); });
  }

  fill() {
    if (!this.data.open) return;
    const now = performance.now();
    if (this.filled && now - this.filled < 1000) return;
    this.filled = now;
    const heads = [{ name: "Time" }, { name: "Time, s", num: true }, ...LAYERS.map((l) => ({ name: l.name, num: true }))];
    const rows = this.rows.map((row) => [clock(row[0]), row[0].toFixed(1), ...LAYERS.map((l) => count(row[l.at]))]);
    this.data.querySelector("div").replaceChildren(table("Jobs over the time of the run", heads, rows));
  }
}
