"use strict";
// Sorting: a number where the cell has one, else its text. A second click turns it round.
document.addEventListener("click", (event) => {
  const button = event.target.closest("th button");
  if (!button) return;
  const head = button.closest("th");
  const column = head.cellIndex;
  const down = head.getAttribute("aria-sort") === "ascending";
  const body = head.closest("table").tBodies[0];
  const key = (row) => {
    const cell = row.cells[column];
    return cell.dataset.n === undefined ? cell.textContent : Number(cell.dataset.n);
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  const rows = Array.from(body.rows, (row) => [key(row), row]);
  rows.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  body.append(...rows.map((pair) => pair[1]));
});
document.addEventListener("input", (event) => {
  if (!event.target.matches("[data-filter]")) return;
  const wanted = event.target.value.toLowerCase();
  const table = event.target.closest("section").querySelector("table");
  for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
});
// A link to a folded section unfolds it.
const unfold = () => {
  const target = document.getElementById(location.hash.slice(1));
  const folded = target && target.querySelector("details");
  if (folded) folded.open = true;
};
window.addEventListener("hashchange", unfold);
unfold();
