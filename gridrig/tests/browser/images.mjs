// The pictures of the documentation.
//   node images.mjs ORIGIN OUT_DIR
import { clean, main, openPage, withBrowser } from "./browser.mjs";

const [origin, out] = process.argv.slice(2);
const STUDY = "two-sites-1";
const PICTURES = [
  ["compare", `/compare?run=${STUDY}`, "#report .verdict", { width: 1280, height: 800 }],
  ["gantt", `/gantt?run=${STUDY}/round-robin/r003&run=${STUDY}/queue-length/r003`, "body[data-ready]", { width: 1280, height: 900 }],
  ["runs", "/runs", "table.runs tbody tr", { width: 1280, height: 720 }],
  ["live", `/live/${STUDY}/queue-length/r003`, "#tiles dd", { width: 1280, height: 900 }],
];

await main(() => withBrowser(async (browser) => {
  const { page, faults } = await openPage(browser, origin);
  for (const [name, path, sign, size] of PICTURES) {
    await page.setViewportSize(size);
    await page.goto(origin + path);
    await page.locator(sign).first().waitFor({ state: "attached" });
    await page.waitForTimeout(400);
    await page.screenshot({ path: `${out}/${name}.png` });
  }
  clean(faults, "the pictures");
}));
