// 200 clusters on the Live page: searched, ordered, as a heat map; and what the page
// says when all runs of a scenario are over.
//   node clusters.mjs ORIGIN OUT_DIR
import { SIZES, accessible, check, clean, fits, main, openPage, same, withBrowser } from "./browser.mjs";

const [origin, out] = process.argv.slice(2);

await main(() => withBrowser(async (browser) => {
  const { page, faults } = await openPage(browser, origin);
  await page.goto(`${origin}/`);
  await page.locator("#scenario option").first().waitFor({ state: "attached" });
  const file = await page.locator("#scenario option").evaluateAll((all) => all.map((one) => one.value).find((one) => one.endsWith("many.toml")));
  await page.getByLabel("Scenario", { exact: true }).selectOption(file);
  await page.waitForFunction(() => document.getElementById("text").value.includes('name = "many"'));

  // What the check says has longer lines than a narrow page has room for.
  await page.setViewportSize(SIZES.narrow);
  await page.getByRole("button", { name: "Check", exact: true }).click();
  const report = page.locator("#report");
  await report.waitFor();
  const [wide, room] = await report.evaluate((box) => [box.scrollWidth, box.clientWidth]);
  check(wide <= room, `what the check says is ${wide} pixels wide in ${room}`);
  await page.setViewportSize(SIZES.wide);

  // Over: the figures are exact, and say of which time they are.
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.locator("#state").filter({ hasText: "done" }).waitFor();
  await page.waitForFunction(() => document.getElementById("said").textContent === "");
  const tiles = await page.locator("#tiles dt").allTextContents();
  same(tiles.filter((name) => name.includes("est.")), [], "estimates of a run that is over");
  check(!(await page.locator("#estimates").isVisible()), "nothing is told of estimates");
  const uses = await page.locator("#clusters .use").allTextContents();
  same(uses.filter((text) => !/^Mean utilization \d+\s%, at the end /.test(text)), [], "clusters of a run that is over");

  // The order.
  const state = await (await page.request.get(`${origin}/api/live`)).json();
  const clusters = state.grid.clusters.map(({ name, processors }, i) => {
    const [queued, , busy] = state.now.clusters[i];
    return { name, queued, use: state.now.used[i], end: busy / processors };
  });
  same(clusters.length, 200, "clusters");
  const shown = (sign, named) => page.locator(sign).evaluateAll((all, attribute) =>
    all.filter((one) => one.checkVisibility()).map((one) => one.getAttribute(attribute).match(/c\d+/)[0]), named);
  const look = async (expected, what) => {
    same(await shown("#clusters .card", "aria-label"), expected, `cards, ${what}`);
    same(await shown("#heat-cells i", "title"), expected, `cells, ${what}`);
  };
  const ordered = (figure) => [...clusters].sort((a, b) => figure(b) - figure(a)).map((one) => one.name);
  await look(clusters.map((one) => one.name), "as in the file");
  const orders = { "by utilization": (one) => one.use, "by queued jobs": (one) => one.queued };
  for (const [label, figure] of Object.entries(orders)) {
    check(new Set(clusters.map(figure)).size > 1, `${label}: all clusters are the same`);
    await page.getByLabel("Order", { exact: true }).selectOption({ label });
    await look(ordered(figure), label);
  }

  // The heat map, in colours and in words: means over the measured time, not how it ended.
  check(clusters.some((one) => one.use !== one.end), "means are those of the end");
  const cells = page.locator("#heat-cells i");
  const colours = await cells.evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
  check(new Set(colours).size > 1, "the heat map has one colour");
  const widths = new Map(await cells.evaluateAll((all) => all.map((one) => [one.title.split(":")[0], one.style.getPropertyValue("--use")])));
  for (const { name, use } of clusters) same(widths.get(name), `${(use * 100).toFixed(1)}%`, `the cell of ${name}`);
  same(await page.locator("#heat-what").textContent(), "Mean utilization over the measured time", "the caption of the heat map");
  const words = await page.locator("#heat-cells").getAttribute("aria-label");
  const [none, all] = [0, 1].map((use) => clusters.filter((one) => one.use === use).length);
  check(words.includes(`${none} were idle then, ${all} were full then`), words);
  const queue = clusters.find((one) => one.queued > 0);
  const title = await page.locator(`#heat-cells i[title^="${queue.name}:"]`).getAttribute("title");
  check(title.includes(`${queue.queued} queued`), title);
  await accessible(page, "200 clusters");
  await fits(page, "200 clusters");
  await page.screenshot({ path: `${out}/clusters.png`, fullPage: true });

  // The search.
  await page.getByLabel("Search clusters").fill(" C19");
  await look(ordered(orders["by queued jobs"]).filter((name) => name.includes("c19")), "searched for");
  same(await page.locator("#clusters-found").textContent(), "10 of 200 clusters", "how many were found");
  await page.getByLabel("Search clusters").fill("nowhere");
  await look([], "none found");

  // From the last of the runs to all of them.
  const link = page.getByRole("link", { name: "Compare the 2 runs", exact: true });
  same(await link.getAttribute("href"), "/compare?run=many-1", "the address of the comparison");
  await link.click();
  await page.locator("#report .verdict").first().waitFor();
  await page.goto(`${origin}/live/many-1/free-node/r000`);
  await page.locator("#tiles dd").first().waitFor();
  check(!(await page.locator("#together").isVisible()), "one run is compared with nothing");
  clean(faults, "200 clusters");
}));
