// Counts what is chosen; everything else on the page works without.
const form = document.getElementById("runs");
const boxes = form ? [...form.querySelectorAll('input[name="run"]')] : [];
const compare = document.getElementById("compare");
const said = document.getElementById("said");

function show() {
  const chosen = boxes.filter((box) => box.checked).length;
  compare.textContent = chosen ? `Compare (${chosen})` : "Compare";
  for (const button of form.querySelectorAll('.actions button[type="submit"]')) button.disabled = chosen === 0;
  const pin = form.querySelector('button[name="pinned"][value="1"]');
  if (chosen > 1) pin.disabled = true;
  said.textContent = chosen ? "" : "Choose runs in the table.";
  all.checked = chosen > 0 && chosen === boxes.length;
  all.indeterminate = chosen > 0 && chosen < boxes.length;
}

const all = document.createElement("input");
if (form) {
  all.type = "checkbox";
  all.setAttribute("aria-label", "Choose all rows");
  form.querySelector("thead th").replaceChildren(all);
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    show();
  });
  form.addEventListener("change", show);
  // A page that the browser has kept comes back with its boxes.
  addEventListener("pageshow", show);
  show();
}
