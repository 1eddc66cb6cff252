const data = JSON.parse(root.querySelector("[data-weights]").dataset.weights);
const make = (name, attributes, ...children) => {
  const drawn = name === "svg" || name === "line";
  const element = drawn ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};
// JupyterLab would take an arrow or a letter for a command.
const keys = { "data-lm-suppress-shortcuts": "true" };
const count = Math.max(data.queries.length, data.keys.length);
const ROW = count > 16 ? 24 : 32;
const height = ROW * count;
const middle = (i) => ROW * (i + 0.5);
window.courseViews = (window.courseViews || 0) + 1;
const group = `course-queries-${window.courseViews}`;
const menu = (label, size, start) => {
  const select = make("select", keys, ...Array.from({ length: size }, (_, i) => make("option", {}, String(i))));
  select.selectedIndex = start;
  return { select, label: make("label", size > 1 ? {} : { hidden: "" }, label, select) };
};
const layer = menu("Layer", data.weights.length, data.start[0]);
const head = menu("Head", data.weights[0].length, data.start[1]);
const token = (text) => make("span", { class: "course-token", dir: "auto", title: text }, text);
const lines = make("svg", {
  viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none", style: `height:${height}px`, "aria-hidden": "true",
});
const radios = data.queries.map((_, i) => make("input", { ...keys, type: "radio", name: group, value: i }));
const rows = data.queries.map((text, i) => make("label", {}, radios[i], token(text)));
const numbers = data.keys.map(() => make("span", { class: "course-number" }));
const bars = data.keys.map(() => make("span", { class: "course-bar" }));
const items = data.keys.map((text, j) => make("li", {}, token(text), numbers[j], bars[j]));
const status = make("p", { class: "course-unseen", role: "status" });
const alone = data.weights.length * data.weights[0].length === 1 && count <= 8; // a toy: every line can be seen
const isHidden = (i, j) => Boolean(data.hidden && data.hidden[i][j]);
const chosenWeights = () => data.weights[layer.select.selectedIndex][head.select.selectedIndex];
const show = (query) => {
  const drawn = [];
  chosenWeights().forEach((row, i) => row.forEach((weight, j) => {
    if (weight < 5 || isHidden(i, j)) return;
    const strong = i === query;
    drawn.push([strong, make("line", {
      x1: 0, y1: middle(i), x2: 100, y2: middle(j), "vector-effect": "non-scaling-stroke",
      stroke: strong ? "#0072B2" : "currentColor",
      "stroke-width": strong || alone ? 1 + weight / 200 : 1,
      "stroke-opacity": (strong ? 0.4 + 0.0006 * weight : (alone ? 0.1 : 0) + 0.0003 * weight).toFixed(3),
    })]);
  }));
  drawn.sort((one, other) => one[0] - other[0]);
  lines.replaceChildren(...drawn.map(([, line]) => line));
  rows.forEach((row, i) => row.classList.toggle("course-on", i === query));
  chosenWeights()[query].forEach((weight, j) => {
    items[j].classList.toggle("course-masked", isHidden(query, j));
    numbers[j].textContent = isHidden(query, j) ? "masked" : (weight / 1000).toFixed(2);
    bars[j].style.width = isHidden(query, j) ? "0" : `${weight / 10}%`;
  });
};
let chosen = data.start[2];
const choose = (query) => {
  chosen = query;
  radios[query].checked = true;
  show(query);
};
const say = () => {
  const seen = chosenWeights()[chosen].map((weight, j) => [weight, j]).filter(([, j]) => !isHidden(chosen, j));
  const best = seen.filter(([weight]) => weight > 0).sort((one, other) => other[0] - one[0]).slice(0, 5);
  const words = best.map(([weight, j]) => `${data.keys[j]} ${(weight / 1000).toFixed(2)}`).join(", ");
  const place = [layer, head].filter(({ label }) => !label.hidden).map(({ label, select }) =>
    `${label.firstChild.textContent} ${select.selectedIndex}. `).join("");
  status.textContent = `${place}${data.queries[chosen]} looks at ${words || "nothing"}.`;
};
for (const { select } of [layer, head]) select.addEventListener("change", () => { show(chosen); say(); });
rows.forEach((row, i) => {
  row.addEventListener("mouseenter", () => show(i));
  row.addEventListener("mouseleave", () => show(chosen));
  radios[i].addEventListener("change", () => { choose(i); say(); });
});
const controls = make("div", { class: "course-controls" }, layer.label, head.label);
controls.hidden = layer.label.hidden && head.label.hidden;
const board = make("div", { class: "course-board", style: `--course-row:${ROW}px` },
  make("fieldset", {}, make("legend", {}, "queries"), ...rows),
  lines,
  make("div", {}, make("div", { class: "course-title" }, "keys"), make("ol", {}, ...items)));
root.querySelector(":scope > .course-still").hidden = true;
root.append(controls, board, status);
choose(chosen);
