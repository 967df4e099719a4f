"use strict";

// A click on the head of a column sorts its table, a second one turns it round.
const words = cell => cell.textContent;
const figure = cell => parseFloat(words(cell).replace(/[^\d.]*([\d.,]*).*/, "$1").replaceAll(",", ""));
for (const head of document.querySelectorAll("th")) {
  const button = document.createElement("button");
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const body = head.closest("table").tBodies[0];
    const falling = head.getAttribute("aria-sort") === "ascending";
    const at = row => row.cells[head.cellIndex];
    const order = head.className === "words"
      ? (a, b) => words(a).localeCompare(words(b), "en", {numeric: true})
      : (a, b) => isNaN(figure(a)) - isNaN(figure(b)) || figure(a) - figure(b) || 0;
    const rows = [...body.rows].sort((a, b) => order(at(a), at(b)));
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    body.append(...(falling ? rows.reverse() : rows));
  });
}
