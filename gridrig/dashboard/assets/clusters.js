// One card per cluster, and all of them as a table.
import { NONE, count, duration, el, percent, table } from "/assets/format.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 100;
const HEIGHT = 30;
// Peers that a card names one by one.
const PEERS = 3;
// More cards than this scroll in a box of their own.
const MANY = 16;

const svg = (tag, attributes) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};

export class Clusters {
  /** `over`: the run has ended. */
  constructor(place, data, over) {
    this.place = place;
    this.over = over;
    this.data = data;
    this.rows = [];
    data.addEventListener("toggle", () => this.fill());
  }

  grid(grid) {
    this.domains = grid.domains;
    this.clusters = grid.clusters;
    this.rows = [];
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
      return { node, dds: dds.map(([, dd]) => dd), line, area, spark, peak, fill, use, age };
    });
    this.place.classList.toggle("many", this.cards.length > MANY);
    if (this.cards.length > MANY) this.place.tabIndex = 0; else this.place.removeAttribute("tabindex");
    this.place.replaceChildren(...this.cards.map((card) => card.node));
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

  update(now, { from, rows }) {
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
      const share = cluster.processors > 0 ? busy / cluster.processors : 0;
      card.fill.style.width = `${(share * 100).toFixed(1)}%`;
      card.use.textContent = `${this.over ? "At the end" : "Utilization"} ${percent(share, 0)}: ${count(busy)} of ${count(cluster.processors)} processors`;
      card.age.textContent = this.ages(now, cluster);
      this.spark(card, i);
    });
    this.fill();
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
    const heads = [{ name: "Cluster" }, { name: "Domain" }, ...["Processors", "Busy", "Utilization", "Queued", "Running", "Finished"]
      .map((name) => ({ name, num: true })), { name: "Information age" }];
    const rows = this.clusters.map((cluster, i) => {
      const [queued, running, busy, finished] = this.now.clusters[i];
      const share = cluster.processors > 0 ? busy / cluster.processors : null;
      return [cluster.name, this.domainOf(cluster) ?? NONE, count(cluster.processors), count(busy), percent(share),
        count(queued), count(running), count(finished), this.ages(this.now, cluster, true).replace("Information age: ", "")];
    });
    const over = [{ name: "Time, s", num: true }, ...this.clusters.map((cluster) => ({ name: cluster.name, num: true }))];
    this.data.querySelector("div").replaceChildren(
      table("Clusters now", heads, rows),
      table("Jobs in each queue over the time of the run", over,
        this.rows.map((row) => [row[0].toFixed(1), ...row.slice(1).map(count)])));
  }
}
