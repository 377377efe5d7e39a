// The Gantt page: zoomed by brush and by keyboard, and the life of a job.
//   node gantt.mjs ORIGIN OUT_DIR
import { accessible, check, clean, main, openPage, same, withBrowser } from "./browser.mjs";

const [origin, out] = process.argv.slice(2);
const RUN = "two-sites-1/round-robin/r000";

await main(() => withBrowser(async (browser) => {
  const { page, faults } = await openPage(browser, origin);
  const ready = async (doing) => {
    const before = Number(await page.evaluate(() => document.body.dataset.ready ?? 0));
    await doing();
    await page.waitForFunction((n) => Number(document.body.dataset.ready ?? 0) > n, before);
  };
  const part = async () => [Number(await page.getByLabel("From, s").inputValue()), Number(await page.getByLabel("to, s").inputValue())];
  await page.goto(`${origin}/gantt`);
  const [top, next] = await page.locator("fieldset input").evaluateAll((all) =>
    all.map((one) => one.getBoundingClientRect()).map(({ x, y }) => ({ x, y })));
  check(next.x === top.x && next.y > top.y, "runs to choose from stand in columns");
  await page.goto(`${origin}/gantt?run=two-sites-1`);
  await page.locator("body[data-ready]").waitFor();
  same(await page.locator("section.gantt").count(), 4, "of a study, the first run of each policy");
  same(await page.locator("section.gantt", { hasText: "pooled" }).count(), 0, "bounds find no place beside four policies");

  // Two policies, one below the other.
  await page.goto(`${origin}/gantt?run=${RUN}&run=two-sites-1/queue-length/r000`);
  await page.locator("body[data-ready]").waitFor();
  same(await page.locator("section.gantt").count(), 2, "two charts");
  const told = page.locator("section.gantt", { hasText: RUN }).locator(".told");
  const runs = await (await page.request.get(`${origin}/api/runs?each=1&filter=path:${RUN}`)).json();
  const jobs = runs.rows[0].jobs.completed;
  check((await told.textContent()).startsWith(`${jobs} of ${jobs} jobs`), await told.textContent());
  const [, end] = await part();

  // A brush over a third of the chart, and both charts follow.
  const canvas = page.locator("canvas").first();
  const box = await canvas.boundingBox();
  await ready(async () => {
    await page.mouse.move(box.x + box.width * 0.4, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.7, box.y + 120, { steps: 4 });
    await page.mouse.up();
  });
  const [from, to] = await part();
  check(from > end * 0.3 && to < end * 0.75 && to - from < end * 0.36, `brushed to ${from} .. ${to} of ${end}`);
  const shown = await told.textContent();
  check(!shown.startsWith(`${jobs} of`), shown);
  check(page.url().includes("from="), "the part stands in the address");

  // With the keyboard: closer, later, everything.
  const stage = page.locator(".stage").first();
  await stage.focus();
  await ready(() => page.keyboard.press("+"));
  const closer = await part();
  check(Math.abs((closer[1] - closer[0]) * 2 - (to - from)) < 0.01, `zoomed to ${closer}`);
  await ready(() => page.keyboard.press("ArrowRight"));
  check((await part())[0] > closer[0], "moved later");
  await ready(() => page.keyboard.press("0"));
  same(await part(), [0, end], "the whole run");

  // The table behind the chart has its jobs, and opens their lives.
  await page.locator(".numbers summary").first().click();
  await page.getByRole("button", { name: "job 7", exact: true }).first().click();
  const drawer = page.getByRole("dialog");
  await drawer.getByText("Placement").waitFor();
  const document = await (await page.request.get(`${origin}/api/gantt?run=${RUN}`)).json();
  const line = document.picture.jobs.find((job) => job.job === 7);
  const life = await drawer.innerText();
  check(life.includes("Job 7") && life.includes(`cluster ${line.cluster}`), life);
  check(/submitted[\s\S]*queued[\s\S]*started[\s\S]*finished[\s\S]*seen/.test(life), life);
  await accessible(page, "the drawer of a job");
  await page.screenshot({ path: `${out}/drawer.png` });
  await page.keyboard.press("Escape");
  check(!(await drawer.isVisible()), "Escape closes the drawer");

  // A click on a box does the same.
  await page.locator(".numbers summary").first().click();
  const widest = document.picture.boxes.reduce((a, b) => ((b[2] - b[1]) * b[4] > (a[2] - a[1]) * a[4] ? b : a));
  const second = page.locator("section.gantt", { hasText: RUN }).locator("canvas");
  await second.scrollIntoViewIfNeeded();
  const area = await second.boundingBox();
  const inside = { w: area.width - 94, h: area.height - 38 };
  await page.mouse.click(
    area.x + 84 + (((widest[1] + widest[2]) / 2) / end) * inside.w,
    area.y + 8 + ((widest[3] + widest[4] / 2) / document.processors) * inside.h,
  );
  await drawer.getByText(`Job ${widest[0]}`, { exact: true }).waitFor();
  clean(faults, "the page of Gantt charts");
}));
