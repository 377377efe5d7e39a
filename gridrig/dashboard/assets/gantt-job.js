// What a click on a job of a chart does.

/** Opens the page of the run at this job. */
export function openJob(run, job) {
  location.href = `/live/${run.split("/").map(encodeURIComponent).join("/")}?job=${job}`;
}
