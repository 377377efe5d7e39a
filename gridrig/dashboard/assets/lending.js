// Who lends processors to whom: the tree of domains with their load, and the pairs.
import { count, el, percent } from "/assets/format.js";

/** What is shown of the grid: nothing where domains form no tree and nobody lends. */
export function lending(section, tree, grid, now, pairs) {
  const parents = grid.parents ?? [];
  const leases = now.leases ?? [];
  section.hidden = leases.length === 0 && parents.every((parent) => parent === null);
  if (section.hidden) return;
  const key = JSON.stringify([leases, now.clusters.map(([queued, , busy]) => [queued, busy])]);
  if (tree.dataset.is === key) return;
  tree.dataset.is = key;
  const loads = grid.domains.map(() => ({ queued: 0, busy: 0, processors: 0 }));
  grid.clusters.forEach((cluster, i) => {
    const load = loads[cluster.domain];
    if (!load) return;
    const [queued, , busy] = now.clusters[i];
    load.queued += queued;
    load.busy += busy;
    load.processors += cluster.processors;
  });
  const below = (parent) => parents.flatMap((its, id) => (its === parent ? [id] : []));
  tree.replaceChildren(branch(below(null), below, (id) => node(id, grid, loads[id], leases)));
  pairs(leases.map(([lender, borrower, current, all]) => [lender, borrower, current || all]),
    leases.some(([, , current]) => current > 0) ? "Leases now, from lender (row) to borrower (column)" : "Leases so far, from lender (row) to borrower (column)");
}

function branch(ids, below, made) {
  return el("ul", { class: "tree" }, ...ids.map((id) => {
    const inner = below(id);
    return el("li", {}, made(id), inner.length ? branch(inner, below, made) : null);
  }));
}

function node(id, grid, load, leases) {
  const name = (other) => grid.domains[other];
  // While nobody lends anything: who has.
  const now = leases.some(([, , current]) => current > 0);
  const which = now ? 2 : 3;
  const list = (mine, theirs) => leases
    .filter((lease) => lease[mine] === id && lease[which] > 0)
    .map((lease) => `${name(lease[theirs])} ${count(lease[which])}`);
  const [lent, borrowed] = [list(0, 1), list(1, 0)];
  const share = load.processors > 0 ? load.busy / load.processors : null;
  const fill = el("i", {});
  fill.style.width = `${((share ?? 0) * 100).toFixed(1)}%`;
  return el("div", { class: "domain" },
    el("strong", {}, name(id)),
    load.processors > 0 ? el("span", { class: "bar", "aria-hidden": "true" }, fill) : null,
    el("span", { class: "mut small" }, load.processors > 0
      ? `${percent(share, 0)} of ${count(load.processors)} processors, ${count(load.queued)} queued` : "administrative"),
    lent.length ? el("span", { class: "small lent" }, `${now ? "lends" : "lent"} to ${lent.join(", ")}`) : null,
    borrowed.length ? el("span", { class: "small borrowed" }, `${now ? "borrows" : "borrowed"} from ${borrowed.join(", ")}`) : null);
}
