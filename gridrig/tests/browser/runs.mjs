// The Runs page: filtered, sorted, chosen, labelled, pinned, deleted.
//   node runs.mjs ORIGIN
import { accessible, check, clean, main, openPage, same, withBrowser } from "./browser.mjs";

const [origin] = process.argv.slice(2);
const HOSTILE = "<script>alert(1)</script>";

await main(() => withBrowser(async (browser) => {
  const { page, faults } = await openPage(browser, origin);
  const policies = () => page.locator("table.runs .policy").allTextContents();
  const row = (policy) => page.locator("table.runs tbody tr", { has: page.locator(".policy", { hasText: policy }) });
  const choose = (policy) => row(policy).locator('input[name="run"]').check();
  const go = async (doing) => {
    const loaded = page.waitForEvent("load");
    await doing();
    await loaded;
  };
  const press = (name) => go(() => page.getByRole("button", { name }).click());
  const filter = (text) => go(async () => {
    await page.getByLabel("Filter", { exact: true }).fill(text);
    await page.keyboard.press("Enter");
  });
  const all = await (await page.request.get(`${origin}/api/runs`)).json();

  await page.goto(`${origin}/runs`);
  same((await policies()).length, all.rows.length, "rows of page and document");
  same(all.rows.length, 7, "policies of the study and their bounds");
  same(all.rows[0].runs, 5, "replications in a row");
  same(await page.locator("table.runs tr.group").count(), 1, "a heading for the scenario");
  const references = await page.locator("table.runs tbody tr", { has: page.locator(".badge", { hasText: /^reference$/ }) }).locator(".policy").allTextContents();
  same(references.sort(), ["full-information", "local-only", "pooled"], "references are marked");

  // Sorted by a click on the head, the largest first, and then the other way.
  const delays = () => page.locator('[data-figure="delay"]').allTextContents();
  await go(() => page.getByRole("link", { name: "Delay, mean, s" }).click());
  const down = (await delays()).map(Number);
  same(down, [...down].sort((a, b) => b - a), "delays, largest first");
  same(await page.locator("th[aria-sort]").getAttribute("aria-sort"), "descending", "aria-sort");
  await go(() => page.getByRole("link", { name: "Delay, mean, s" }).click());
  same((await delays()).map(Number), [...down].reverse(), "delays, smallest first");
  const shown = all.rows.map((r) => r.figures.delay_s_mean).sort((a, b) => a - b);
  shown.forEach((value, n) => check(Math.abs(value - [...down].reverse()[n]) <= 0.005, `delay ${value}: ${down}`));

  // Found by words and keys; an unknown key is told.
  await filter("policy:round");
  same(await policies(), ["round-robin"], "policy:round");
  await page.getByLabel("every replication by itself").check();
  await press("Show");
  same((await policies()).length, 5, "each replication by itself");
  clean(faults, "filter");
  await filter("colour:red");
  check((await page.getByRole("alert").textContent()).includes("colour:red"), "an unknown key is told");
  faults.length = 0; // the browser notes the status of that page

  // Tags and a note; what is hostile is text.
  await page.goto(`${origin}/runs`);
  await choose("free-node");
  await press("Tags and note");
  await page.getByLabel("Tags, with commas between").fill(`paper, ${HOSTILE}`);
  await page.getByLabel("Note").fill("wins in the burst\nand <b>loses</b> later");
  await press("Save");
  check((await page.getByRole("status").first().textContent()).includes("5 runs"), "how many runs were labelled");
  same(await row("free-node").locator(".tag").allTextContents(), [HOSTILE, "paper"], "tags");
  check((await row("free-node").locator(".note").innerText()).includes("<b>loses</b>"), "the note is text");
  await accessible(page, "/runs with labels");
  await page.goto(`${origin}/runs?filter=tag:paper`);
  same(await policies(), ["free-node"], "tag:paper");

  // Pinned: on top, and the baseline of a comparison.
  await page.goto(`${origin}/runs`);
  await choose("queue-length");
  await press("Pin as baseline");
  same((await policies())[0], "queue-length", "the baseline is on top");
  check((await row("queue-length").locator(".badge").textContent()) === "baseline", "the baseline says so");
  const compare = page.locator("#compare");
  check(await compare.isDisabled(), "nothing is chosen yet");
  await choose("queue-length");
  await choose("round-robin");
  same(await compare.textContent(), "Compare (2)", "chosen runs are counted");
  await go(() => compare.click());
  await page.locator("#report .verdict").waitFor();
  same(await page.getByLabel("Baseline").inputValue(), "queue-length", "the pin is the baseline");
  clean(faults, "pin and compare");

  // Deleted only after the question.
  await page.goto(`${origin}/runs`);
  await choose("utilization");
  await press("Delete");
  await go(() => page.getByRole("link", { name: "Cancel" }).click());
  same((await policies()).length, 7, "cancelled");
  await choose("utilization");
  await press("Delete");
  await press("Delete 5 runs");
  check((await page.getByRole("status").first().textContent()).includes("Deleted 5 runs"), "what was deleted");
  same((await policies()).length, 6, "deleted");
  clean(faults, "the page of runs");
}));
