// The exercise on the front page: a table of cells to click, answered with the messages of the exercise in chapter 05.
"use strict";

for (const card of document.querySelectorAll(".course-first-exercise")) {
  const words = card.dataset.words.split(" ");
  const mistakes = JSON.parse(card.dataset.mistakes);
  const cells = [...card.querySelectorAll("[data-query]")];
  const said = card.querySelector("[role=status]");
  const after = card.querySelector("[data-after]");
  const table = () => cells.map((cell) => (cell.getAttribute("aria-pressed") === "true" ? "1" : "0")).join("");

  // What the first wrong cell of a table does, if no known mistake has made it.
  const effect = (got) => {
    const wrong = cells.filter((_, place) => got[place] !== card.dataset.right[place]);
    const { query, key } = wrong[0].dataset;
    const reads = `While “${words[query]}” is read (row ${query}), `;
    const seen = Number(key) > Number(query)
      ? `“${words[key]}” is visible (column ${key}), which the model has yet to write.`
      : `“${words[key]}” is hidden (column ${key}), though it stands there already.`;
    const others = wrong.length - 1;
    return `${reads}${seen}${others ? ` ${others} more ${others > 1 ? "cells are" : "cell is"} wrong.` : ""}`;
  };

  const answer = () => {
    const got = table();
    const passed = got === card.dataset.right;
    const [mark, message] = passed ? ["✓", "passed. Each word sees itself and its past."] : mistakes[got] ?? ["✗", ""];
    said.innerHTML = `<b aria-hidden="true">${mark}</b> <code>${card.dataset.exercise}</code>: ${message}`;
    if (!message) said.append(effect(got));
    said.className = `course-said-${passed ? "right" : "wrong"}`;
    after.hidden = !passed;
  };

  for (const cell of cells)
    cell.addEventListener("click", () => {
      cell.setAttribute("aria-pressed", String(cell.getAttribute("aria-pressed") !== "true"));
      said.textContent = "";
      said.className = "";
      after.hidden = true;
    });
  card.querySelector("[data-check]").addEventListener("click", answer);
}
