// Figures as text. null is a figure that is undefined.
export const NONE = "\u2013";

export const count = (n) => (n === null || n === undefined ? NONE : Math.round(n).toLocaleString("en-US"));

export const number = (x, digits = 3) => {
  if (x === null || x === undefined || !Number.isFinite(x)) return NONE;
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e15) return x.toLocaleString("en-US");
  if (size >= 1e15) return x.toExponential(2);
  if (size >= 1000) return Math.round(x).toLocaleString("en-US");
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return x.toFixed(Math.min(places, 6));
};

// 46,524,141 as "46.5 million".
const long = new Intl.NumberFormat("en", { notation: "compact", compactDisplay: "long", maximumSignificantDigits: 3 });
export const rounded = (x) => (Number.isFinite(x) && Math.abs(x) >= 1e5 ? long.format(x) : number(x));

export const percent = (share, digits = 1) =>
  share === null || share === undefined ? NONE : `${(share * 100).toFixed(digits)} %`;

// The key of a replication as reports show it: window+1209600s is window+14d.
export const keyWords = (key) => {
  const [, seconds] = key.match(/^window\+(\d+)s$/) ?? [];
  return seconds && seconds % 86400 === 0 ? `window+${seconds / 86400}d` : key;
};

// A length of time in the unit that suits it: [figure, unit].
export const time = (s) => {
  if (s === null || s === undefined || !Number.isFinite(s)) return [NONE, ""];
  const size = Math.abs(s);
  if (size >= 2 * 86400) return [number(s / 86400), "d"];
  if (size >= 2 * 3600) return [number(s / 3600), "h"];
  if (size >= 120) return [number(s / 60), "min"];
  if (size > 0 && size < 0.1) return [number(s * 1000), "ms"];
  return [number(s), "s"];
};

export const duration = (s) => time(s).join("\u00a0").trim();

// 93784 s as "1 d 02:03:04".
export const clock = (s) => {
  const whole = Math.floor(s);
  const days = Math.floor(whole / 86400);
  const two = (n) => String(n).padStart(2, "0");
  const rest = `${two(Math.floor(whole / 3600) % 24)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return days > 0 ? `${days} d ${rest}` : rest;
};

// An element with attributes and children. Text is text: nothing of it is read
// as markup.
export const el = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};

// A table of rows; numbers stand to the right.
export const table = (caption, heads, rows) =>
  el("table", {},
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, ...heads.map((head) =>
      el("th", { scope: "col", class: head.num ? "num" : null }, head.name)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell, i) =>
      el(i === 0 && !heads[i].num ? "th" : "td",
        { class: heads[i].num ? "num" : null, scope: i === 0 && !heads[i].num ? "row" : null },
        cell instanceof Node ? cell : String(cell)))))));

// Asks for JSON; a problem document becomes an error with its detail.
export const ask = async (url, options) => {
  const answer = await fetch(url, { credentials: "same-origin", ...options });
  const body = await answer.json().catch(() => null);
  if (!answer.ok) {
    const error = new Error(body?.detail ?? `${url}: ${answer.status} ${answer.statusText}`);
    error.problem = body;
    throw error;
  }
  return body;
};

export const post = (url, body) => ask(url, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});
