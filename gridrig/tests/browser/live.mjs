// A run in real time, started from the page: Live, the other pages and the
// drawer while it goes, and all of them afterwards.
//   node live.mjs ORIGIN OUT_DIR
import { accessible, check, clean, fits, main, openPage, same, withBrowser } from "./browser.mjs";

const [origin, out] = process.argv.slice(2);

await main(() => withBrowser(async (browser) => {
  const { page, faults } = await openPage(browser, origin);
  await page.goto(`${origin}/`);
  await page.locator("#scenario option").first().waitFor({ state: "attached" });
  const smoke = await page.locator("#scenario option").evaluateAll((all) => all.map((one) => one.value).find((file) => file.endsWith("realtime-smoke.toml")));
  await page.getByLabel("Scenario", { exact: true }).selectOption(smoke);
  const text = page.getByLabel("Scenario file (TOML)");
  await page.waitForFunction(() => document.getElementById("text").value.includes('clock = "real"'));
  // A quarter of a minute, then.
  await text.fill((await text.inputValue()).replace("speed = 5", "speed = 20").replace('length = "5h"', 'length = "3h"'));
  await page.getByLabel("Name of the run").fill("watched");
  await page.getByRole("button", { name: "Start", exact: true }).click();

  // While it goes.
  const state = page.locator("#state");
  await state.filter({ hasText: "running" }).waitFor();
  await page.locator("#feed tr").nth(5).waitFor();
  await page.waitForFunction(() => document.getElementById("said").textContent === "");
  // The same run by its address: read from its journals, and the figures are those of now.
  const other = await openPage(browser, origin);
  await other.page.goto(`${origin}/live/watched-1/round-robin/r000`);
  await other.page.locator("#clusters .use").filter({ hasText: "processors" }).first().waitFor();
  const [how, use, off] = await other.page.evaluate(() => [document.getElementById("state").textContent,
    document.querySelector("#clusters .use").textContent, document.querySelector("#tiles > :last-child").title]);
  check(how === "running" ? use.startsWith("Utilization ") : /^(Mean utilization|At the end) /.test(use), `${how}: ${use}`);
  check(how !== "running" || off === "Off by at most 0.1 %", `how exact the p95 is: ${off}`);
  await accessible(page, "Live during a run");
  await fits(page, "Live during a run");
  await page.getByRole("spinbutton", { name: "Job" }).fill("0");
  await page.getByRole("button", { name: "Show this job", exact: true }).click();
  const drawer = page.getByRole("dialog");
  await drawer.getByText("submitted", { exact: true }).waitFor();
  await accessible(page, "the drawer during a run");
  await page.screenshot({ path: `${out}/drawer-live.png` });
  await drawer.getByRole("button", { name: "Close" }).click();
  await page.screenshot({ path: `${out}/live-running.png`, fullPage: true });
  for (const path of ["/runs", "/compare", "/gantt"]) {
    const answer = await other.page.goto(origin + path);
    check(answer.ok(), `${path} during a run: ${answer.status()}`);
    await accessible(other.page, `${path} during a run`);
  }
  clean(other.faults, "other pages during a run");

  // Afterwards.
  await page.waitForFunction(() => !["running", "preparing", "writing"].includes(document.getElementById("state").textContent), null, { timeout: 300_000 });
  const ended = await state.textContent();
  const message = await page.locator("#message").textContent();
  // A machine that is too busy makes the run invalid, and the page says so.
  check(ended === "done" || message.includes("not valid"), `ended as ${ended}: ${message}`);
  await page.goto(`${origin}/runs?filter=path:watched`);
  await page.locator("table.runs .policy").first().waitFor();
  const table = await (await page.request.get(`${origin}/api/runs?filter=path:watched`)).json();
  same(table.rows.length, 1, "the run is in the catalogue");
  const run = table.rows[0];
  check(run.state === "complete" && run.clock === "real" && run.jobs.completed > 0, JSON.stringify(run));
  await page.goto(`${origin}/gantt?run=${run.path}`);
  await page.locator("body[data-ready]").waitFor();
  await page.locator(".numbers summary").click();
  await page.getByRole("button", { name: "job 0", exact: true }).click();
  await drawer.getByText("Placement").waitFor();
  await drawer.getByRole("button", { name: "Why did it go there?" }).click();
  await drawer.getByText("sent to").first().waitFor();
  await accessible(page, "the drawer with decisions");
  await page.screenshot({ path: `${out}/drawer-decisions.png` });
  await page.goto(`${origin}/compare?run=${run.path}`);
  check((await page.locator("#report .verdict").innerText()).includes("nothing to compare with"), "one run has no verdict");
  await page.goto(`${origin}/live/${run.path}`);
  await page.locator("#tiles dd").first().waitFor();
  await accessible(page, "Live of a finished run");
  clean(faults, "a run from its start to its end");
}));
