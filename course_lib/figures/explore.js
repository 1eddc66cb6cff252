const part = (selector) => root.querySelector(`:scope > ${selector}`);
const frames = root.querySelectorAll(":scope > .course-frame");
const controls = [...part(".course-controls").querySelectorAll("input, select")];
const state = (control) => {
  if (control.type === "checkbox") return [Number(control.checked), 2];
  if (control.type === "range") return [Number(control.value), Number(control.max) + 1];
  return [control.selectedIndex, control.options.length];
};
const update = () => {
  let number = 0;
  for (const control of controls) {
    const [at, count] = state(control);
    number = number * count + at;
    if (control.type === "range") {
      const label = JSON.parse(control.dataset.labels)[at];
      control.setAttribute("aria-valuetext", label);
      control.nextElementSibling.textContent = label;
    }
  }
  frames.forEach((frame, i) => { frame.hidden = i !== number; });
  return frames[number].dataset.text;
};
for (const control of controls) {
  control.addEventListener("input", () => { part("[role=status]").textContent = update(); });
}
part(".course-controls").hidden = false;
part(".course-still").hidden = true;
update();
