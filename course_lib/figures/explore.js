const data = JSON.parse(root.dataset.explore);
const frames = root.querySelectorAll(":scope > .course-frame");
const controls = [...root.querySelectorAll(":scope > .course-controls :is(input, select)")];
const position = (control) => {
  if (control.type === "checkbox") return JSON.parse(control.dataset.order).indexOf(Number(control.checked));
  return control.type === "range" ? Number(control.value) : control.selectedIndex;
};
const update = (speak) => {
  let number = 0;
  controls.forEach((control, i) => {
    const at = position(control);
    number = number * data.sizes[i] + at;
    if (control.type === "range") {
      const label = JSON.parse(control.dataset.labels)[at];
      control.setAttribute("aria-valuetext", label);
      control.nextElementSibling.textContent = label;
    }
  });
  frames.forEach((frame, i) => { frame.hidden = i !== data.frames[number]; });
  if (speak) root.querySelector(":scope > [role=status]").textContent = data.texts[number];
};
controls.forEach((control) => control.addEventListener("input", () => update(true)));
root.querySelector(":scope > .course-controls").hidden = false;
root.querySelector(":scope > .course-still").hidden = true;
update(false);
