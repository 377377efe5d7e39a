// What a large run costs a page: when its first content is there, when its
// figures are, and how many bytes came over the wire for it.
//   node large.mjs live ORIGIN            a run that goes on
//   node large.mjs finished ORIGIN RUN JOB    RUN below its folder of runs
import { check, clean, fits, main, openPage, withBrowser } from "./browser.mjs";

const [kind, origin, run, job] = process.argv.slice(2);
// The aims: first content in less than a second, less than 300 kB.
const FIRST_MS = 1000;
const WIRE_KB = 300;
const failed = [];

/** Opens a page; says what it took until `sign` was there. */
async function measure(browser, name, path, sign, { aim = true, after } = {}) {
  const { page, context, faults } = await openPage(browser, origin);
  const wire = await context.newCDPSession(page);
  await wire.send("Network.enable");
  let bytes = 0;
  wire.on("Network.dataReceived", (event) => { bytes += event.encodedDataLength; });
  const begin = performance.now();
  await page.goto(origin + path, { waitUntil: "commit", timeout: 120_000 });
  await page.locator(sign).first().waitFor({ state: "attached", timeout: 120_000 });
  const figures = performance.now() - begin;
  const arrived = bytes / 1000;
  const first = await page.evaluate(() => new Promise((done) => {
    const told = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    const ask = () => (told() === undefined ? requestAnimationFrame(ask) : done(told()));
    ask();
  }));
  console.log(`${name}: first content ${first.toFixed(0)} ms, figures ${figures.toFixed(0)} ms, ${arrived.toFixed(0)} kB`);
  if (aim && first > FIRST_MS) failed.push(`${name}: first content after ${first.toFixed(0)} ms`);
  if (aim && arrived > WIRE_KB) failed.push(`${name}: ${arrived.toFixed(0)} kB`);
  await fits(page, name);
  await after?.(page);
  clean(faults, name);
  await context.close();
}

await main(() => withBrowser(async (browser) => {
  if (kind === "live") {
    await measure(browser, "live", "/", "#clusters .card", {
      after: async (page) => check((await page.locator("#clusters .card").count()) === 200, "200 clusters"),
    });
  } else {
    await measure(browser, "finished run", `/live/${run}`, "#clusters .card");
    await measure(browser, "finished run, again", `/live/${run}`, "#clusters .card", {
      after: async (page) => {
        await page.locator("#job").fill(job);
        const begin = performance.now();
        await page.locator("#find button").click();
        await page.locator("#drawer dd").first().waitFor();
        console.log(`life of job ${job}: ${(performance.now() - begin).toFixed(0)} ms`);
      },
    });
    await measure(browser, "runs", "/runs", "table.runs tbody tr");
    await measure(browser, "gantt", `/gantt?run=${run}`, "body[data-ready]");
    await measure(browser, "compare", `/compare?run=${run.split("/")[0]}`, "#report .verdict");
  }
  check(failed.length === 0, failed.join("\n"));
}));
