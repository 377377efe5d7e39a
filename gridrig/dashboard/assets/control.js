// Starting, checking and stopping scenarios.
import { ask, el, post } from "/assets/format.js";

const id = (name) => document.getElementById(name);

export class Control {
  constructor() {
    // Sessions are numbered: the one that is shown, and the one that this page has started.
    this.shown = 0;
    this.taken = null;
    this.form = id("start");
    if (!this.form) return;
    this.text = id("text");
    id("scenario").addEventListener("change", () => this.load());
    id("check").addEventListener("click", () => this.check());
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.start(); });
    this.list();
    this.queue();
  }

  async list() {
    try {
      const { scenarios } = await ask("/api/scenarios");
      this.about = new Map(scenarios.map((one) => [one.file, one.about]));
      id("scenario").replaceChildren(...scenarios.map((one) => el("option", { value: one.file }, one.file)));
      if (scenarios.length === 0) {
        this.say("There is no scenario in resources/scenarios or beside the folder of runs.");
        return;
      }
      const first = scenarios.find((one) => one.file.endsWith("two-sites.toml"));
      if (first) id("scenario").value = first.file;
      await this.load();
    } catch (error) { this.fail(error); }
  }

  async load() {
    try {
      const file = id("scenario").value;
      const { text } = await ask(`/api/scenarios/text?file=${encodeURIComponent(file)}`);
      this.text.value = text;
      id("about").textContent = this.about.get(file) || "The file stays as it is: edit the text as you like.";
      id("name").value = "";
      id("name").placeholder = file.replace(/^.*\//, "").replace(/\.toml$/, "");
      this.clear();
    } catch (error) { this.fail(error); }
  }

  draft() {
    return { file: id("scenario").value, text: this.text.value, name: id("name").value || null, force: id("force").checked };
  }

  clear() {
    id("mistake").hidden = true;
    id("report").hidden = true;
    this.taken = null;
    this.say("");
  }

  say(text) { id("said").textContent = text; }

  fail(error) {
    this.say("");
    const mistake = id("mistake");
    mistake.hidden = false;
    mistake.replaceChildren(error.message, " ");
    const line = error.problem?.line;
    if (line) {
      mistake.append(el("button", { type: "button", class: "link", onclick: () => this.go(line) }, `Go to line ${line}`));
    }
  }

  go(line) {
    const lines = this.text.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    this.text.focus();
    this.text.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
    this.text.scrollTop = Math.max(0, line - 6) * (this.text.scrollHeight / lines.length);
  }

  async check() {
    this.clear();
    this.say("Checking");
    try {
      const { text, folder, taken } = await post("/api/control/check", this.draft());
      this.say(taken ? "It can run, under another name" : `It can run; its folder is ${folder}`);
      id("report").hidden = false;
      id("report").textContent = text;
      if (taken) this.fail(new Error(taken));
    } catch (error) { this.fail(error); }
  }

  async start() {
    this.clear();
    this.say("Starting");
    try {
      const { id: taken } = await post("/api/control/start", this.draft());
      this.say("Taken: it is shown at the top of this page once it runs");
      this.taken = taken;
      // News of it may be faster than the answer.
      this.settle();
      scrollTo({ top: 0, behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
      this.queue();
    } catch (error) { this.fail(error); }
  }

  /** Another session is shown, or the one that is shown has another state. */
  changed(session) {
    this.shown = session?.id ?? 0;
    this.settle();
    this.queue();
  }

  // What was taken is at the top of the page now, or was there.
  settle() {
    if (this.taken === null || this.shown < this.taken) return;
    this.taken = null;
    this.say("");
  }

  // The scenarios that wait; called again when another one runs.
  async queue() {
    if (!this.form) return;
    const { queue } = await ask("/api/control").catch(() => ({ queue: [] }));
    id("queue-title").hidden = queue.length === 0;
    id("queue").replaceChildren(...queue.map((one) => el("li", {}, `${one.scenario} `,
      el("button", { type: "button", class: "link", onclick: async () => {
        await post("/api/control/stop", { id: one.id }).catch((error) => this.fail(error));
        if (one.id === this.taken) this.clear();
        this.queue();
      } }, "take out"))));
  }
}
