// The Live page: the whole state first, then what is new.
import { Clusters } from "/assets/clusters.js";
import { Control } from "/assets/control.js";
import { Course } from "/assets/course.js";
import { openJob } from "/assets/drawer.js";
import { NONE, ask, clock, count, duration, el, keyWords, number, percent, post, rounded, time } from "/assets/format.js";
import { lending } from "/assets/lending.js";

const FEED = 40;
const RUNS = 200;
const id = (name) => document.getElementById(name);
const chosen = id("live").dataset.run;

const state = { session: null, runs: [], current: null, grid: null, now: null, feed: [] };
const course = new Course(id("course"), id("course-data"));
const clusters = new Clusters(id("clusters"), id("clusters-data"));
const control = new Control();

const BUSY = ["preparing", "running"];
const LOOKS = { running: "", writing: "", preparing: "mut", done: "good", failed: "bad", stopped: "warn" };

const small = (figure, unit) => [figure, ...(unit ? [" ", el("small", {}, unit)] : [])];

const pairs = (place, list) => place.replaceChildren(...list.filter(Boolean).map(([name, value, why]) =>
  el("div", { title: why }, el("dt", {}, name), el("dd", {}, ...[value].flat()))));

function head() {
  const { session, runs, current } = state;
  const run = runs[current];
  const badge = id("state");
  badge.textContent = session.state === "running" && run?.state === "writing" ? "writing" : session.state;
  badge.className = `badge ${LOOKS[session.state] ?? ""}`;
  id("title").textContent = chosen ?? session.scenario;
  document.title = `${session.state === "running" ? `${Math.floor(progress() * 100)} % ` : ""}${session.scenario} \u00b7 gridrig`;
  const parts = [
    run ? (run.policy === "pooled" ? "all nodes in one pooled cluster" : run.policy ? `policy ${run.policy}` : "no broker") : null,
    run && runs.length > 1 ? `run ${current + 1} of ${runs.length}` : null,
    run?.key && run.key !== "single" ? `replication ${keyWords(run.key)}` : null,
    `${session.clock} clock${session.speed ? `, speed ${number(session.speed)}` : ""}`,
    followed() ? "started elsewhere, read from its journals every few seconds" : null,
    session.compression !== 1 || session.run_time_compression !== 1
      ? `arrivals compressed ${number(session.compression)}\u00d7, run times ${number(session.run_time_compression)}\u00d7`
      : "trace not compressed",
  ];
  id("which").textContent = parts.filter(Boolean).join(" \u00b7 ");
  id("message").hidden = !session.message;
  id("message").textContent = session.message ?? "";
  id("stop").hidden = Boolean(chosen) || !BUSY.includes(session.state);
  comparison();
  warnings(session.warnings);
  validity(run);
}

// What several runs were for: when the last one is over, they are a link away.
function comparison() {
  const dirs = state.runs.map((run) => run.dir).filter(Boolean);
  const box = id("together");
  box.hidden = BUSY.includes(state.session.state) || dirs.length < 2;
  if (box.hidden) return;
  // STUDY/POLICY/rNNN; runs that do not lie as deep are named one by one.
  const named = new Set(dirs.map((dir) => dir.split("/").slice(0, -2).join("/") || dir));
  const link = box.querySelector("a");
  link.href = `/compare?${[...named].map((name) => `run=${encodeURIComponent(name)}`).join("&")}`;
  link.textContent = `Compare the ${count(dirs.length)} runs`;
}

// A run that was started elsewhere is read again and again until it is over.
const followed = () => Boolean(chosen) && state.session?.state === "running";

const progress = () => (state.now && state.now.jobs > 0 ? state.now.ended / state.now.jobs : 0);

// Whether the run may be relied on: submissions that come late make it invalid.
function validity(run) {
  const { session, now } = state;
  const badge = id("validity");
  badge.hidden = false;
  if (run?.valid === false || now?.late) {
    badge.className = "badge bad";
    badge.textContent = "not valid";
  } else if (run?.valid === true) {
    badge.className = "badge good";
    badge.textContent = "valid";
  } else badge.hidden = true;
  badge.title = now?.late
    ? `Submissions are late: ${duration(now.lag_trace_s)} of the trace at p99, tolerance ${duration(session.lag_tolerance_s)}`
    : "";
}

function warnings(list) {
  const box = id("warnings");
  box.hidden = list.length === 0;
  box.querySelector("summary").textContent =
    list.length === 1 ? "1 warning: what these results do not show" : `${list.length} warnings: what these results do not show`;
  const items = box.querySelector("ul");
  if (items.dataset.is !== JSON.stringify(list)) {
    items.dataset.is = JSON.stringify(list);
    items.replaceChildren(...list.map((text) => el("li", {}, text)));
  }
}

function lag() {
  const { session, now } = state;
  if (session.clock === "virtual") return ["Submission lag", small("0", "virtual clock: no lag")];
  const good = now.late ? "bad" : "good";
  return ["Submission lag p99 \u00d7 compression",
    [el("span", { class: good }, duration(now.lag_trace_s)), " ",
      el("small", {}, `of the trace, tolerance ${duration(session.lag_tolerance_s)}`)]];
}

function facts() {
  const { session, now } = state;
  const going = session.state === "running" && !chosen && progress() < 1;
  id("progress").value = progress();
  pairs(id("facts"), [
    ["Progress", [percent(progress()), " ", el("small", {}, `${count(now.ended)} of ${count(now.jobs)} jobs seen to their end`)]],
    ["Clock of the run", [clock(now.t_s), " ", session.compression === 1 ? null
      : el("small", {}, `${duration(now.t_s * session.compression)} of the trace`)].filter(Boolean)],
    now.pace === null ? null : ["Pace", small(`${rounded(now.pace)}\u00d7`, "the wall clock")],
    going ? ["Time left", small(...time(now.eta_s))] : null,
    chosen ? null : ["Wall-clock time", small(...time(now.wall_s))],
    lag(),
  ]);
}

function tiles() {
  const { now } = state;
  // Of a run that is over the summary has the exact figures.
  const run = state.runs[state.current];
  const exact = run && run.completed !== null ? run : null;
  id("estimates").hidden = exact !== null;
  const named = (name) => (exact ? name : `${name} (est.)`);
  const { waited_share: waited, delay_mean_s: mean, delay_p95_s: p95 } = exact ?? now;
  pairs(id("tiles"), [
    ["submitted", count(now.submitted)],
    ["with brokers", count(now.with_brokers), "Held by a broker, or on the way between services"],
    ["queued", count(now.queued), "In the queues of clusters"],
    ["running", count(now.running)],
    ["finished", count(now.finished)],
    ["rejected", count(now.rejected)],
    now.cancelled > 0 ? ["cancelled", count(now.cancelled)] : null,
    now.failed > 0 ? ["failed", count(now.failed)] : null,
    ["forwarded", [count(now.forwarded), " ", el("small", {}, percent(now.submitted > 0 ? now.forwarded / now.submitted : null, 0))],
      "Jobs forwarded at least once, and their share of those submitted"],
    [named("waited"), percent(waited), "Share of the started jobs that waited for processors"],
    [named("mean delay"), small(...time(mean)), `From submission until its end is known, less its run time; of the ${exact ? "measured jobs" : "jobs so far"}`],
    [named("p95 delay"), small(...time(p95)), exact ? null : "Off by at most 0.1 %"],
  ]);
}

/** Pairs of domains, [from, to, how many], as a matrix or, of a large grid, the busiest. */
function matrix(place, pairs, caption, heads) {
  const names = state.grid.domains;
  const max = Math.max(1, ...pairs.map(([, , n]) => n));
  const cell = (n) => {
    const td = el("td", { class: n ? "num hot" : "num none" }, n ? count(n) : "0");
    td.style.setProperty("--heat", `${Math.round((n / max) * 45)}%`);
    return td;
  };
  let body;
  if (names.length <= 12) {
    const of = new Map(pairs.map(([from, to, n]) => [`${from}>${to}`, n]));
    body = el("table", { class: "matrix" },
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, heads[0]), ...names.map((name) => el("th", { scope: "col", class: "num" }, name)))),
      el("tbody", {}, ...names.map((name, from) => el("tr", {}, el("th", { scope: "row" }, name),
        ...names.map((_, to) => (from === to ? el("td", { class: "self" }, NONE) : cell(of.get(`${from}>${to}`) ?? 0)))))));
  } else {
    const top = [...pairs].sort((a, b) => b[2] - a[2]);
    body = el("table", { class: "matrix" },
      el("caption", {}, `The busiest of ${count(top.length)} pairs`),
      el("thead", {}, el("tr", {}, ...heads.map((name, i) => el("th", { scope: "col", class: i === 2 ? "num" : null }, name)))),
      el("tbody", {}, ...top.slice(0, 25).map(([from, to, n]) =>
        el("tr", {}, el("th", { scope: "row" }, names[from]), el("td", {}, names[to]), cell(n)))));
  }
  place.replaceChildren(body);
}

function forwarding() {
  const { now, grid } = state;
  const place = id("matrix");
  const key = JSON.stringify([now.forwards, now.submitted, grid.domains]);
  if (place.dataset.is === key) return;
  place.dataset.is = key;
  if (grid.domains.length < 2) {
    place.replaceChildren(el("p", { class: "mut" }, "There is no second domain to forward to."));
    return;
  }
  if (grid.domains.length > 12 && now.forwards.length === 0) {
    place.replaceChildren(el("p", { class: "mut" }, "No job has been forwarded."));
    return;
  }
  matrix(place, now.forwards, "Forwards from (row) to (column)", ["from", "to", "forwards"]);
  const shown = now.forwards.reduce((sum, [, , n]) => sum + n, now.more_forwards);
  place.append(el("p", { class: "mut small" }, `${count(shown)} forwards; ${count(now.forwarded)} jobs forwarded at least once, ${
    percent(now.submitted > 0 ? now.forwarded / now.submitted : null)} of those submitted`));
}

function feed() {
  const rows = state.feed.slice(-FEED).reverse();
  const place = id("feed");
  const newest = rows[0]?.n;
  if (place.dataset.is === String(newest)) return;
  // Whoever is on a job in the list stays there.
  const focus = place.contains(document.activeElement) ? document.activeElement.dataset.n : null;
  place.dataset.is = String(newest);
  place.replaceChildren(...rows.map((line) => el("tr", {},
    el("td", { class: "num" }, line.t_s.toFixed(3)), el("td", {}, line.kind),
    el("td", {}, el("button", { type: "button", class: "link", "data-job": line.job, "data-n": line.n,
      "aria-label": `Job ${line.job}: show its events` }, String(line.job))),
    el("td", {}, line.text))));
  if (focus) (place.querySelector(`[data-n="${focus}"]`) ?? place.querySelector("button"))?.focus();
}

function runs() {
  const list = state.runs.slice(-RUNS);
  id("runs").replaceChildren(...list.map((run, i) => {
    const position = state.runs.length - list.length + i;
    const name = `${run.policy ?? "no broker"}${run.key && run.key !== "single" ? ` ${keyWords(run.key)}` : ""}`;
    const look = run.valid === false ? "bad" : LOOKS[run.state] ?? "mut";
    const words = run.valid === false ? `${run.state}, not valid` : run.state;
    return el("tr", { "aria-current": position === state.current ? "true" : null },
      el("th", { scope: "row" }, run.dir ? el("a", { href: `/live/${run.dir.split("/").map(encodeURIComponent).join("/")}` }, name) : name),
      el("td", { class: look }, words),
      el("td", { class: "num" }, run.completed === null ? NONE : count(run.completed)),
      el("td", { class: "num" }, duration(run.delay_mean_s)),
      el("td", { class: "num" }, duration(run.delay_p95_s)),
      el("td", { class: "num" }, percent(run.waited_share)));
  }));
}

function apply(message, whole) {
  const other = state.session?.id !== message.session?.id || state.session?.state !== message.session?.state;
  state.session = message.session;
  state.current = message.current;
  if (message.grid) state.grid = message.grid;
  if (message.runs) { state.runs = message.runs; runs(); }
  if (whole) { state.feed = []; state.now = null; id("feed").dataset.is = ""; }
  if (message.now) state.now = message.now;
  state.feed.push(...message.feed);
  state.feed.splice(0, Math.max(0, state.feed.length - FEED));
  if (other) control.changed(message.session);
  id("idle").hidden = state.session !== null || Boolean(chosen);
  id("shown").hidden = state.now === null;
  if (state.session === null) {
    id("state").textContent = "idle";
    id("state").className = "badge mut";
    id("validity").hidden = true;
    return;
  }
  head();
  if (whole && state.grid) clusters.grid(state.grid);
  if (state.now === null) return;
  facts();
  tiles();
  course.update(message.course);
  clusters.update(state.now, message.sparks, state.runs[state.current]?.state !== "running");
  forwarding();
  lending(id("lending"), id("tree"), state.grid, state.now,
    (pairs, caption) => matrix(id("leases"), pairs, caption, ["lender", "borrower", "leases"]));
  feed();
}

function follow() {
  const stream = new EventSource("/api/live/events");
  stream.addEventListener("snapshot", (event) => apply(JSON.parse(event.data), true));
  stream.addEventListener("delta", (event) => apply(JSON.parse(event.data), false));
  // The browser tries again by itself, and is given the whole state.
  stream.addEventListener("error", () => {
    // But not when it is refused, as while 64 others follow.
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, 5000);
    if (state.session && !BUSY.includes(state.session.state)) return;
    id("state").textContent = "not connected";
    id("state").className = "badge warn";
  });
}

document.addEventListener("click", (event) => {
  const job = event.target.closest("[data-job]");
  if (job) openJob(job.dataset.job, chosen);
});
id("find").addEventListener("submit", (event) => {
  event.preventDefault();
  openJob(id("job").value, chosen);
});
id("stop").addEventListener("click", async () => {
  id("stop").disabled = true;
  try { await post("/api/control/stop", { id: state.session.id }); } catch (error) {
    id("message").hidden = false;
    id("message").textContent = error.message;
  }
  id("stop").disabled = false;
});

async function look() {
  const begin = performance.now();
  try {
    apply(await ask(`/api/live/run/${chosen.split("/").map(encodeURIComponent).join("/")}`), true);
  } catch (error) {
    id("message").hidden = false;
    id("message").textContent = error.message;
    // One that has just ended is not to be read until its tables are written.
    if (!followed()) {
      id("state").textContent = "unreadable";
      id("state").className = "badge bad";
    }
  }
  // A run with many jobs takes longer to read: nine tenths of the time are left to it.
  if (followed()) setTimeout(look, Math.max(3000, 9 * (performance.now() - begin)));
}

if (chosen) {
  id("state").textContent = "reading";
  look();
} else follow();
