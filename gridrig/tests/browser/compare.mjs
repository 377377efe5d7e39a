// The Compare page: its numbers are those of `gridrig compare --json`, and
// those are what DuckDB computes from the tables.
//   node compare.mjs ORIGIN COMPARE_JSON DUCKDB_JSON
import { readFileSync } from "node:fs";
import { check, clean, main, openPage, same, withBrowser } from "./browser.mjs";

const [origin, compareFile, duckdbFile] = process.argv.slice(2);
const printed = readFileSync(compareFile, "utf8");
const expected = JSON.parse(printed);
const queried = JSON.parse(readFileSync(duckdbFile, "utf8"));
const WORDS = { mean: "mean", p50: "median", p95: "95 % quantile", p99: "99 % quantile" };

/** A number as the page writes it. */
function short(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1000) return new Intl.NumberFormat("en").format(Math.round(value));
  if (size >= 100) return value.toFixed(1);
  return size >= 1 ? value.toFixed(2) : value.toFixed(3);
}

const signed = (value) => (value > 0 ? `+${short(value)}` : short(value));

function near(a, b, what) {
  check(Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b)), `${what}: ${a} and ${b}`);
}

await main(() => withBrowser(async (browser) => {
  const { page, faults } = await openPage(browser, origin);
  const answer = await page.request.get(`${origin}/api/compare?run=two-sites-1&baseline=round-robin`);
  same(await answer.text(), printed, "the document and gridrig compare --json");

  // The document and the tables.
  let compared = 0;
  for (const policy of expected.policies) {
    for (const [statistic, value] of Object.entries(queried[policy.name])) {
      near(policy.metrics.delay_s[statistic].value, value, `${policy.name} delay_s.${statistic}`);
      compared += 1;
    }
  }
  check(compared === 28, `${compared} figures were compared`);

  // The page and the document.
  await page.goto(`${origin}/compare?run=two-sites-1&baseline=round-robin`);
  check((await page.locator("#report .verdict").first().innerText()).includes(expected.verdict.text), "the sentence comes first");
  const rows = await page.locator("#report table").first().locator("tbody tr").evaluateAll((all) =>
    all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  let statistic = "";
  let read = 0;
  for (const cells of rows) {
    if (cells[0]) statistic = Object.keys(WORDS).find((name) => cells[0].startsWith(WORDS[name]));
    const policy = expected.policies.find((one) => cells[1].replace(/^\(|\)$| \(baseline\)$/g, "") === one.name);
    const estimate = policy.metrics.delay_s[statistic];
    same(cells[2], short(estimate.value), `${policy.name} ${statistic}`);
    const own = estimate.value_interval;
    if (own) same(cells[3], `${short(own.low)} to ${short(own.high)}`, `interval of the value of ${policy.name} ${statistic}`);
    if (estimate.difference !== undefined) {
      same(cells[4], signed(estimate.difference), `difference of ${policy.name} ${statistic}`);
      same(cells[5], `${signed(estimate.interval.low)} to ${signed(estimate.interval.high)}`, `interval of ${policy.name} ${statistic}`);
    }
    read += 1;
  }
  same(read, 4 * expected.policies.length, "rows of the table");
  check((await page.locator("#report figure svg").count()) > 5, "pictures");
  const without = await page.locator("#report figure").evaluateAll((all) => all.filter((one) => !one.querySelector("details table")).length);
  same(without, 0, "pictures without their numbers");

  // Held against another policy.
  await page.getByLabel("Baseline").selectOption("free-node");
  await page.getByRole("button", { name: "Compare again" }).click();
  await page.locator("#report td, #report th").filter({ hasText: "free-node (baseline)" }).first().waitFor();
  clean(faults, "the page of comparisons");

  // Where there are many jobs, the inside comes after its frame.
  await page.route(/\/compare\?/, async (route) => {
    const frame = await route.fetch();
    const html = (await frame.text()).replace(/<div id="report"[\s\S]*<\/main>/,
      '<div id="report" class="report" data-src="/compare/body?run=two-sites-1" aria-busy="true"><p>Comparing</p></div></main>');
    await route.fulfill({ response: frame, body: html });
  });
  await page.goto(`${origin}/compare?run=two-sites-1`);
  await page.locator("#report .verdict").waitFor();
  check((await page.locator("#report .verdict").first().innerText()).includes(expected.verdict.text), "the sentence comes");
  same(await page.locator("#report").getAttribute("aria-busy"), null, "no longer busy");
  clean(faults, "the page that is filled later");
}));
