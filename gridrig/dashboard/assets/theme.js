// Loaded before the page is painted, so that a chosen theme does not flash.
(() => {
  const NAMES = ["auto", "light", "dark"];
  const KEY = "gridrig.theme";
  const read = () => {
    try { return localStorage.getItem(KEY) || "auto"; } catch { return "auto"; }
  };
  const show = (name) => {
    const root = document.documentElement;
    if (name === "auto") delete root.dataset.theme; else root.dataset.theme = name;
    const button = document.getElementById("theme");
    if (button) {
      button.hidden = false;
      button.textContent = `Theme: ${name}`;
    }
    dispatchEvent(new CustomEvent("themechange"));
  };
  let current = NAMES.includes(read()) ? read() : "auto";
  show(current);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(current));
  addEventListener("DOMContentLoaded", () => {
    show(current);
    document.getElementById("theme")?.addEventListener("click", () => {
      current = NAMES[(NAMES.indexOf(current) + 1) % NAMES.length];
      try { localStorage.setItem(KEY, current); } catch { /* lasts as long as the page */ }
      show(current);
    });
  });
})();
