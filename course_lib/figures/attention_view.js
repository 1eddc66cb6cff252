const data = JSON.parse(root.dataset.attention);
const make = (name, attributes, ...children) => {
  const svg = ["svg", "line"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};
const ROW = 32;
const [q, k] = [data.queries.length, data.keys.length];
const height = ROW * Math.max(q, k);
const center = (count, i) => (height - ROW * count) / 2 + ROW * (i + 0.5);
const group = "course" + document.querySelectorAll("[data-course][data-ready]").length;
const menu = (label, count, start) => {
  const select = make("select", {}, ...Array.from({ length: count }, (_, i) => make("option", {}, String(i))));
  select.selectedIndex = start;
  return { select, label: make("label", count > 1 ? {} : { hidden: "" }, label, select) };
};
const layer = menu("Layer", data.weights.length, data.start[0]);
const head = menu("Head", data.weights[0].length, data.start[1]);
const lines = make("svg", { viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none", style: `height:${height}px`, "aria-hidden": "true" });
const radios = data.queries.map((_, i) => make("input", { type: "radio", name: group, value: i }));
const rows = data.queries.map((token, i) => make("label", {}, radios[i], make("span", { dir: "auto" }, token)));
const numbers = data.keys.map(() => make("span", { class: "course-number" }));
const bars = data.keys.map(() => make("span", { class: "course-bar" }));
const items = data.keys.map((token, j) => make("li", {}, make("span", { dir: "auto" }, token), numbers[j], bars[j]));
const status = make("p", { class: "course-unseen", role: "status" });
let chosen = data.start[2];
const show = (query) => {
  const weights = data.weights[layer.select.selectedIndex][head.select.selectedIndex];
  const drawn = [];
  weights.forEach((row, i) => row.forEach((weight, j) => {
    if (weight < 5 || (data.hidden && data.hidden[i][j])) return;
    const strong = i === query;
    drawn.push([strong, make("line", {
      x1: 0, y1: center(q, i), x2: 100, y2: center(k, j), "vector-effect": "non-scaling-stroke",
      stroke: strong ? "#0072B2" : "currentColor",
      "stroke-width": strong ? 1 + weight / 200 : 1,
      "stroke-opacity": (strong ? 0.35 + 0.65 * weight / 1000 : 0.3 * weight / 1000).toFixed(3),
    })]);
  }));
  drawn.sort((a, b) => a[0] - b[0]);
  lines.replaceChildren(...drawn.map((pair) => pair[1]));
  rows.forEach((row, i) => row.classList.toggle("course-on", i === query));
  data.keys.forEach((_, j) => {
    const hidden = data.hidden && data.hidden[query][j];
    items[j].classList.toggle("course-masked", Boolean(hidden));
    numbers[j].textContent = hidden ? "masked" : (weights[query][j] / 1000).toFixed(2);
    bars[j].style.width = hidden ? "0" : weights[query][j] / 10 + "%";
  });
  return weights[query];
};
const choose = (query, speak) => {
  chosen = query;
  radios[query].checked = true;
  const weights = show(query);
  if (!speak) return;
  const best = weights.map((weight, j) => [weight, j]).filter(([weight, j]) =>
    weight > 0 && !(data.hidden && data.hidden[query][j])).sort((a, b) => b[0] - a[0]).slice(0, 5);
  const said = best.map(([weight, j]) => `${data.keys[j]} ${(weight / 1000).toFixed(2)}`).join(", ");
  status.textContent = `${data.queries[query]} looks at ${said || "nothing"}.`;
};
for (const { select } of [layer, head]) select.addEventListener("change", () => choose(chosen, true));
rows.forEach((row, i) => {
  row.addEventListener("mouseenter", () => show(i));
  row.addEventListener("mouseleave", () => show(chosen));
  radios[i].addEventListener("change", () => choose(i, true));
});
const controls = make("div", { class: "course-controls" }, layer.label, head.label);
controls.hidden = layer.label.hidden && head.label.hidden;
const queries = make("fieldset", {}, make("legend", {}, "queries"), ...rows);
const keys = make("div", {}, make("div", { class: "course-legend" }, "keys"), make("ol", {}, ...items));
root.querySelector(".course-still").hidden = true;
root.append(controls, make("div", { class: "course-board" }, queries, lines, keys), status);
choose(chosen, false);
