// Loads the inside of a comparison that takes its time.
const report = document.getElementById("report");
const source = report?.dataset.src;

if (source) {
  try {
    const answer = await fetch(source);
    if (answer.ok) {
      report.innerHTML = await answer.text();
    } else {
      const problem = await answer.json();
      fail(problem.detail);
    }
  } catch (error) {
    fail(`The dashboard does not answer (${error.message}).`);
  }
  report.removeAttribute("aria-busy");
}

function fail(text) {
  const line = document.createElement("p");
  line.className = "bad";
  line.setAttribute("role", "alert");
  line.textContent = text;
  report.replaceChildren(line);
}
