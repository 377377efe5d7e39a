// One browser for a script, and what every page must keep: nothing on the
// console, no violation of the policy, no request to another origin, no error
// of the script.
import { createRequire } from "node:module";
import { accessSync, constants, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Sizes that pages are looked at in. */
export const SIZES = { wide: { width: 1280, height: 900 }, narrow: { width: 390, height: 844 } };

/** The browser: what GRIDRIG_CHROMIUM names, else chromium, looked up in PATH. */
function chromiumPath() {
  const name = process.env.GRIDRIG_CHROMIUM || "chromium";
  if (name.includes("/")) return name;
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, name);
    try { accessSync(path, constants.X_OK); return path; } catch { /* the next one */ }
  }
  throw new Error(`${name} is not in PATH`);
}

/** Opens Chromium and does `work(browser)`; it is closed in any case. */
export async function withBrowser(work) {
  const root = process.getuid?.() === 0;
  const browser = await chromium.launch({
    executablePath: chromiumPath(),
    args: [
      // Root cannot have the sandbox.
      ...(root ? ["--no-sandbox"] : []),
      "--disable-gpu", "--disable-background-networking", "--disable-component-update",
      // No name resolves: nothing leaves the machine.
      "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    ],
    timeout: 120_000,
  });
  try {
    return await work(browser);
  } finally {
    await browser.close();
  }
}

/** A page of this size and scheme that notes what it must not do. */
export async function openPage(browser, origin, { size = "wide", scheme = "light" } = {}) {
  const context = await browser.newContext({ viewport: SIZES[size], colorScheme: scheme, reducedMotion: "reduce" });
  // The cookie of the request is that of the pages.
  const login = `${origin}/login?token=${process.env.GRIDRIG_TOKEN}`;
  const entered = await context.request.get(login, { maxRedirects: 0 });
  check(entered.status() === 303, `${origin} does not take GRIDRIG_TOKEN`);
  const page = await context.newPage();
  page.setDefaultTimeout(90_000);
  const faults = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`script: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith("data:") && !url.startsWith("blob:")) faults.push(`request: ${url}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  return { page, context, faults };
}

/** Throws with this text unless it is so. */
export function check(truth, text) {
  if (!truth) throw new Error(text);
}

/** Throws unless both are the same. */
export function same(found, expected, what) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  check(a === b, `${what}: found ${a}, expected ${b}`);
}

/** Nothing has gone wrong on this page so far. */
export function clean(faults, what) {
  check(faults.length === 0, `${what}:\n  ${faults.join("\n  ")}`);
}

/** No element keeps people out, as far as axe-core can see. */
export async function accessible(page, what) {
  // The policy of the page forbids foreign scripts; this way in is the
  // debugger's.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axeSource });
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    expression: "axe.run(document, { resultTypes: ['violations'] }).then((r) => JSON.stringify(r.violations.map((v) => `${v.id}: ${v.help}: ` + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' | ' + n.failureSummary.split('\\n')[1]).join(' ; '))))",
    awaitPromise: true,
    returnByValue: true,
  });
  check(!exceptionDetails, `${what}: axe-core failed: ${JSON.stringify(exceptionDetails)}`);
  const violations = JSON.parse(result.value);
  check(violations.length === 0, `${what}: axe-core:\n  ${violations.join("\n  ")}`);
}

/** The page itself does not scroll sideways. */
export async function fits(page, what) {
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  check(wide <= room, `${what}: ${wide} pixels wide in ${room}`);
}

/** Every control can be reached with Tab, from the top of the page. */
export async function reachable(page, what) {
  await page.evaluate(() => { document.activeElement?.blur(); scrollTo(0, 0); });
  const wanted = await page.evaluate(() => {
    const all = document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']");
    let count = 0;
    for (const element of all) {
      const shown = element.checkVisibility() && !element.disabled && element.tabIndex >= 0;
      if (shown) { element.dataset.wanted = String(count); count += 1; }
    }
    return count;
  });
  const seen = new Set();
  for (let step = 0; step < wanted + 5 && seen.size < wanted; step += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => document.activeElement?.dataset?.wanted ?? null);
    if (at !== null) seen.add(at);
  }
  const missed = await page.evaluate((known) => [...document.querySelectorAll("[data-wanted]")]
    .filter((element) => !known.includes(element.dataset.wanted)).map((element) => element.outerHTML.slice(0, 120)), [...seen]);
  check(missed.length === 0, `${what}: not reached by Tab: ${missed.join(" ; ")}`);
}

/** Runs a script, says how it went, and ends with 1 if it failed. */
export async function main(work) {
  try {
    await work();
    console.log("ok");
  } catch (error) {
    console.error(error.stack ?? String(error));
    process.exitCode = 1;
  }
}
