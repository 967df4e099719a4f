"use strict";

// A click on the head of a column sorts its table, a second one turns it round.
for (const head of document.querySelectorAll("th")) {
  const button = document.createElement("button");
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const body = head.closest("table").tBodies[0];
    const falling = head.getAttribute("aria-sort") === "ascending";
    const key = row => row.cells[head.cellIndex].dataset.key;
    const rows = [...body.rows].sort((a, b) =>
      key(a).localeCompare(key(b), "en", {numeric: true}) || 0);
    if (rows.every(row => key(row) === "" || !isNaN(key(row)))) {
      rows.sort((a, b) => (key(a) === "") - (key(b) === "") || key(a) - key(b));
    }
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    body.append(...(falling ? rows.reverse() : rows));
  });
}
