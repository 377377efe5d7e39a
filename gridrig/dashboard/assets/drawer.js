// The whole life of a job, in a drawer. Other pages open it too:
//   import { openJob } from "/assets/drawer.js"; openJob(7, "two-sites-1/random/r000");
import { NONE, ask, count, duration, el, number, table } from "/assets/format.js";

const drawer = () => document.getElementById("drawer");

const facts = (pairs) => el("dl", {}, ...pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]));

const pretty = (text) => {
  try { return JSON.stringify(JSON.parse(text), null, 1); } catch { return text || "(empty)"; }
};

const exchanges = (list) => list.map((one) =>
  el("details", {},
    el("summary", {}, `${(one.t_ms / 1000).toFixed(3)} s  ${one.service}  ${one.request_line}  ${one.status}`),
    el("p", { class: "small mut" }, "Request"), el("pre", {}, pretty(one.request)),
    el("p", { class: "small mut" }, "Answer"), el("pre", {}, pretty(one.response))));

// How brokers decided: candidate by candidate, what was believed, and what was true.
const decisions = (list) => list.flatMap((one) => [
  el("p", {}, el("b", {}, `${one.time_s.toFixed(3)} s, ${one.broker}: `), one.says),
  table(one.score_of ? `Candidates; score: ${one.score_of}` : "Candidates",
    [{ name: "Candidate" }, { name: "Standing" }, { name: "Score", num: true }, { name: "Free", num: true },
      { name: "Queued", num: true }, { name: "Age", num: true }, { name: "Free in truth", num: true },
      { name: "Queued in truth", num: true }],
    one.candidates.map((it) => [it.candidate, it.standing, number(it.score), count(it.free), number(it.queued),
      duration(it.information_age_s), count(it.true_free), count(it.true_queued)]))]);

// A run that has not recorded its decisions is played again, which may take a while.
const why = (job, of) => {
  const place = el("div", { "aria-live": "polite" });
  const look = async () => {
    place.replaceChildren(el("p", { class: "mut" }, "Looking it up"));
    try {
      const found = await ask(`/api/live/jobs/${encodeURIComponent(job)}/decisions${of}`);
      place.replaceChildren(...(found.length > 0 ? decisions(found) : [el("p", {}, "No broker decided about it.")]));
    } catch (error) {
      place.replaceChildren(el("p", { class: "bad", role: "alert" }, error.message));
    }
  };
  place.append(el("button", { type: "button", onclick: look }, "Why did it go there?"));
  return place;
};

const show = (life) => {
  const s = (value) => (value === null ? NONE : `${number(value, 6)} s`);
  const parts = [
    facts([
      ["State", life.state + (life.cluster ? `, cluster ${life.cluster}` : "")],
      ["Trace job", life.trace_id],
      ...life.owners.map((name) => [name[0].toUpperCase() + name.slice(1), life[name] ?? NONE]),
      ["Processors", count(life.processors)],
      ["Run time", life.run_time_s === null ? `${s(life.run_time_ref_s)} at speed 1.0` : s(life.run_time_s)],
      ["Requested", s(life.requested_s)],
      ["Enters", `${life.entry} at ${s(life.intended_s)}`],
      ["Forwards", life.hops], ["Wait time", s(life.wait_s)], ["Queue time", s(life.queue_s)],
      ["Response time", s(life.response_s)], ["Delay time", s(life.delay_s)],
    ]),
    el("h3", {}, "Life"),
    table("What happened, in the time of the run",
      [{ name: "Time, s", num: true }, { name: "Since", num: true }, { name: "Event" }, { name: "Where" }],
      life.steps.map((step, i) => [step.t_s.toFixed(3),
        i === 0 ? NONE : `+${duration(step.t_s - life.steps[i - 1].t_s)}`, step.kind, step.text])),
  ];
  if (life.more_steps > 0) parts.push(el("p", { class: "mut" }, `${count(life.more_steps)} more events`));
  if (life.parts.length > 0) {
    const time = (at) => (at === null ? NONE : at.toFixed(3));
    parts.push(el("h3", {}, "Parts"), table("What each cluster had of it",
      [{ name: "Cluster" }, { name: "Components" }, { name: "Processors", num: true }, { name: "Held from, s", num: true },
        { name: "Start, s", num: true }, { name: "End, s", num: true }],
      life.parts.map((part) => [part.cluster, part.components.join(", ") || "a share", count(part.processors),
        time(part.held_s), time(part.start_s), time(part.end_s)])));
  }
  if (life.placement.length > 0) {
    parts.push(el("h3", {}, "Placement"), table("Its processors, node by node",
      [{ name: "Resource", num: true }, { name: "Numbers of its nodes", num: true }, { name: "Processors on each", num: true }],
      life.placement.map((run) => [run.resource,
        run.nodes === 1 ? run.node : `${run.node} to ${run.node + run.nodes - 1}`, count(run.processors)])));
  }
  if (life.exchanges.length > 0) {
    parts.push(el("h3", {}, `Raw exchanges (${life.exchanges.length})`), ...exchanges(life.exchanges));
  }
  return parts;
};

export const openJob = async (job, run) => {
  const dialog = drawer();
  const body = dialog.querySelector("#drawer-body");
  dialog.querySelector("#drawer-title").textContent = `Job ${job}`;
  body.replaceChildren(el("p", { class: "mut" }, "Looking it up"));
  if (!dialog.open) dialog.showModal();
  const of = run ? `?run=${encodeURIComponent(run)}` : "";
  try {
    const life = await ask(`/api/live/jobs/${encodeURIComponent(job)}${of}`);
    body.replaceChildren(...show(life));
    if (life.is_over) body.append(el("h3", {}, "Decisions"), why(job, of));
  } catch (error) {
    body.replaceChildren(el("p", { class: "bad", role: "alert" }, error.message));
  }
};

addEventListener("DOMContentLoaded", () => {
  const dialog = drawer();
  dialog?.querySelector("#drawer-close").addEventListener("click", () => dialog.close());
  dialog?.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
});
