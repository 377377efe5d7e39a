// Every page in both schemes and at both widths: nothing that keeps people
// out, no sideways scroll, every control within reach of the Tab key, nothing
// on the console, no request elsewhere.
//   node pages.mjs ORIGIN OUT_DIR
import { accessible, check, clean, fits, main, openPage, reachable, same, withBrowser } from "./browser.mjs";

const [origin, out] = process.argv.slice(2);
const RUN = "two-sites-1/round-robin/r000";
const PAGES = {
  live: ["/", "#control option"],
  finished: [`/live/${RUN}`, "#tiles dd"],
  runs: ["/runs", "table.runs tbody tr"],
  each: ["/runs?each=1&sort=-delay&filter=two-sites", "table.runs tbody tr"],
  none: ["/runs?filter=nowhere", ".panel"],
  label: [`/runs/label?run=${RUN}`, "#note"],
  delete: [`/runs/delete?run=${RUN}`, "button.danger"],
  studies: ["/compare", "main table a"],
  compare: ["/compare?run=two-sites-1", "#report .verdict"],
  single: [`/compare?run=${RUN}`, "#report .verdict"],
  choose: ["/gantt", "fieldset input"],
  gantt: ["/gantt?run=two-sites-1/round-robin/r000&run=two-sites-1/queue-length/r000", "body[data-ready]"],
};

await main(() => withBrowser(async (browser) => {
  for (const size of ["wide", "narrow"]) {
    for (const scheme of ["light", "dark"]) {
      const { page, context, faults } = await openPage(browser, origin, { size, scheme });
      for (const [name, [path, sign]] of Object.entries(PAGES)) {
        const what = `${path}, ${size}, ${scheme}`;
        const answer = await page.goto(origin + path);
        check(answer.ok(), `${what}: status ${answer.status()}`);
        await page.locator(sign).first().waitFor({ state: "attached" });
        // Colours decide nothing about widths, and neither about what Tab
        // reaches: the narrow and dark one is only looked at.
        if (scheme === "light") await fits(page, what);
        // No table of a report scrolls inside itself: where the page is narrow
        // they are cards.
        const inside = await page.locator("#report .stack").evaluateAll((all) =>
          all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.getAttribute("aria-label")));
        same(inside, [], `${what}: tables that scroll sideways`);
        if (size === "wide" || scheme === "light") await accessible(page, what);
        if (size === "wide" && scheme === "light") await reachable(page, what);
        clean(faults, what);
        await page.screenshot({ path: `${out}/${name}-${size}-${scheme}.png` });
      }
      await context.close();
    }
  }
}));
