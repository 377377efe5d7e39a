// One card per cluster, a heat map of many, and all of them as a table.
import { NONE, count, duration, el, percent, table } from "/assets/format.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 100;
const HEIGHT = 30;
// Peers that a card names one by one.
const PEERS = 3;
// Up to so many cards are seen at a glance: nothing to search or to order.
const FEW = 4;
// More cards than this scroll in a box of their own, below a heat map.
const MANY = 16;
// Time between two looks at the order while a run goes on, in milliseconds: cards that
// move all the time cannot be read.
const PATIENCE = 2000;

const id = (name) => document.getElementById(name);
const share = (cluster, busy) => (cluster.processors > 0 ? busy / cluster.processors : 0);

// What cards are ordered by, the highest first; in file order there is nothing.
const ORDERS = {
  utilization: (view, i) => view.used(i),
  queued: (view, i) => view.now.clusters[i][0],
};

const svg = (tag, attributes) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};

export class Clusters {
  constructor(place, data) {
    this.place = place;
    this.data = data;
    this.rows = [];
    this.now = null;
    this.search = id("clusters-search");
    this.order = id("clusters-order");
    this.search.addEventListener("input", () => this.arrange());
    this.order.addEventListener("change", () => this.arrange());
    data.addEventListener("toggle", () => this.fill());
  }

  grid(grid) {
    this.domains = grid.domains;
    this.clusters = grid.clusters;
    this.rows = [];
    this.now = null;
    this.placed = "";
    this.cards = grid.clusters.map((cluster) => {
      const dds = ["queued", "running", "finished"].map((name) => [name, el("dd", {})]);
      const line = svg("path", {});
      const area = svg("path", { class: "area" });
      const spark = svg("svg", { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none",
        role: "img", "aria-label": `Queue of ${cluster.name} over time` });
      spark.append(area, line);
      const fill = el("i", {});
      const use = el("p", { class: "use" });
      const age = el("p", { class: "age" });
      const peak = el("p", { class: "peak" });
      const domain = this.domainOf(cluster);
      const node = el("article", { class: "card", "aria-label": `Cluster ${cluster.name}` },
        el("h3", {}, cluster.name, el("span", {}, domain ? `domain ${domain}` : "no broker")),
        el("dl", { class: "figures" }, ...dds.map(([name, dd]) => el("div", {}, el("dt", {}, name), dd))),
        spark, peak, el("div", { class: "bar" }, fill), use, age);
      return { node, cell: el("i", {}), dds: dds.map(([, dd]) => dd), line, area, spark, peak, fill, use, age };
    });
    const many = this.cards.length > MANY;
    this.place.classList.toggle("many", many);
    if (many) this.place.tabIndex = 0; else this.place.removeAttribute("tabindex");
    this.place.replaceChildren(...this.cards.map((card) => card.node));
    id("heat").hidden = !many;
    id("heat-cells").replaceChildren(...this.cards.map((card) => card.cell));
    id("clusters-view").hidden = this.cards.length <= FEW;
    // What cannot be seen hides nothing.
    if (id("clusters-view").hidden) [this.search.value, this.order.value] = ["", "file"];
  }

  domainOf(cluster) {
    return cluster.domain === null ? null : this.domains[cluster.domain];
  }

  // How old the information on a cluster is, as each broker sees it; the many
  // peers of a large grid in one figure unless `all` are wanted.
  ages(now, cluster, all) {
    if (cluster.domain === null) return "";
    const age = now.ages[cluster.domain];
    const old = (s) => (s === null ? "none yet" : duration(s));
    // Of a finished run also how old it was while the run went on.
    const over = (pair) => (pair ? ` (mean ${duration(pair[0])}, p95 ${duration(pair[1])})` : "");
    const seen = [`broker ${this.domainOf(cluster)} (own) ${old(age.own_s)}${over(age.run?.own_s)}`];
    const peers = age.peers.length + age.more;
    if (all || peers <= PEERS) {
      seen.push(...age.peers.map(([peer, s], n) => `broker ${this.domains[peer]} ${old(s)}${over(age.run?.peers_s[n])}`));
      if (age.more > 0) seen.push(`${age.more} more, up to ${old(age.oldest_s)}${over(age.run?.oldest_s)}`);
    } else seen.push(`${peers} peers, up to ${old(age.oldest_s)}${over(age.run?.oldest_s)}`);
    return `Information age: ${seen.join(", ")}`;
  }

  // Of a run that has ended the mean over its measured time, where that is known: at its end
  // all are idle.
  used(i) {
    const { used } = this.now;
    return used ? used[i] ?? 0 : share(this.clusters[i], this.now.clusters[i][2]);
  }

  /** `over`: the run has ended. */
  update(now, { from, rows }, over) {
    this.now = now;
    this.rows.length = Math.min(this.rows.length, from);
    this.rows.push(...rows);
    this.cards.forEach((card, i) => {
      const cluster = this.clusters[i];
      const [queued, running, busy, finished] = now.clusters[i];
      [queued, running, finished].forEach((figure, n) => {
        const text = count(figure);
        if (card.dds[n].textContent !== text) card.dds[n].textContent = text;
      });
      const used = this.used(i);
      const width = `${(used * 100).toFixed(1)}%`;
      const processors = `${count(busy)} of ${count(cluster.processors)} processors`;
      const words = this.now.used ? `${percent(used, 0)}, at the end ${processors}` : `${percent(used, 0)}: ${processors}`;
      const when = over ? "At the end" : "Utilization";
      card.fill.style.width = width;
      card.use.textContent = `${this.now.used ? "Mean utilization" : when} ${words}`;
      card.cell.style.setProperty("--use", width);
      card.cell.title = `${cluster.name}: ${words}, ${count(queued)} queued, ${count(running)} running`;
      card.age.textContent = this.ages(now, cluster);
      this.spark(card, i);
    });
    this.heat(over);
    if (over || performance.now() - this.arranged > PATIENCE || this.placed === "") this.arrange();
    this.fill();
  }

  // What the colours of the heat map say, in words.
  heat(over) {
    const uses = this.clusters.map((_, i) => this.used(i));
    const [none, all] = [uses.filter((used) => used === 0).length, uses.filter((used) => used === 1).length];
    const mean = Boolean(this.now.used);
    const when = over ? "Utilization at the end" : "Utilization";
    id("heat-what").textContent = mean ? "Mean utilization over the measured time" : when;
    const [idle, full] = mean ? ["were idle then", "were full then"] : ["have no busy processor", "have no free one"];
    id("heat-cells").setAttribute("aria-label", `Heat map of the ${mean ? "mean " : ""}utilization of ${count(uses.length)} clusters${
      mean ? " over the measured time" : ""}: ${count(none)} ${idle}, ${count(all)} ${full}; the data table has the figures of each`);
  }

  // Shows the cards and cells of the clusters that are searched for, in the order that is chosen.
  arrange() {
    if (!this.now) return;
    this.arranged = performance.now();
    const wanted = this.search.value.trim().toLowerCase();
    let found = 0;
    this.cards.forEach(({ node, cell }, i) => {
      const fits = this.clusters[i].name.toLowerCase().includes(wanted);
      node.hidden = cell.hidden = !fits;
      found += fits;
    });
    const said = `${count(found)} of ${count(this.cards.length)} clusters`;
    if (id("clusters-found").textContent !== said) id("clusters-found").textContent = said;
    const list = this.cards.map((_, i) => i);
    const figure = ORDERS[this.order.value];
    const of = (i) => figure(this, i);
    if (figure) list.sort((a, b) => of(b) - of(a));
    if (this.placed === list.join()) return;
    this.placed = list.join();
    this.place.append(...list.map((i) => this.cards[i].node));
    id("heat-cells").append(...list.map((i) => this.cards[i].cell));
  }

  spark(card, i) {
    if (this.rows.length < 2) return;
    const [first, last] = [this.rows[0][0], this.rows[this.rows.length - 1][0]];
    const highest = Math.max(...this.rows.map((row) => row[i + 1]));
    const max = Math.max(1, highest);
    const x = (t) => (((t - first) / (last - first || 1)) * WIDTH).toFixed(1);
    const y = (n) => (HEIGHT - (n / max) * (HEIGHT - 2) - 1).toFixed(1);
    let path = `M${x(first)} ${y(this.rows[0][i + 1])}`;
    for (const row of this.rows.slice(1)) path += `H${x(row[0])}V${y(row[i + 1])}`;
    card.line.setAttribute("d", path);
    card.area.setAttribute("d", `${path}V${HEIGHT}H0Z`);
    // A queue that came and went between two of these instants is not seen.
    const seen = `at ${count(this.rows.length)} instants, up to ${count(highest)} ${highest === 1 ? "job" : "jobs"}`;
    card.peak.textContent = `Queue ${seen}`;
    card.spark.setAttribute("aria-label", `Queue of ${this.clusters[i].name} ${seen}`);
  }

  fill() {
    if (!this.data.open || !this.now) return;
    const stamp = performance.now();
    if (this.filled && stamp - this.filled < 1000) return;
    this.filled = stamp;
    const use = this.now.used ? "Mean utilization" : "Utilization";
    const heads = [{ name: "Cluster" }, { name: "Domain" }, ...["Processors", "Busy", use, "Queued", "Running", "Finished"]
      .map((name) => ({ name, num: true })), { name: "Information age" }];
    const rows = this.clusters.map((cluster, i) => {
      const [queued, running, busy, finished] = this.now.clusters[i];
      const used = cluster.processors > 0 ? this.used(i) : null;
      return [cluster.name, this.domainOf(cluster) ?? NONE, count(cluster.processors), count(busy), percent(used),
        count(queued), count(running), count(finished), this.ages(this.now, cluster, true).replace("Information age: ", "")];
    });
    const over = [{ name: "Time, s", num: true }, ...this.clusters.map((cluster) => ({ name: cluster.name, num: true }))];
    this.data.querySelector("div").replaceChildren(
      table("Clusters now", heads, rows),
      table("Jobs in each queue over the time of the run", over,
        this.rows.map((row) => [row[0].toFixed(1), ...row.slice(1).map(count)])));
  }
}
