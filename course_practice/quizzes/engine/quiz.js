root.dataset.ready = "";
const make = (name, attributes, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};
const KEY = "transformer-course-missed";
const missed = () => { try { return { ...JSON.parse(localStorage.getItem(KEY)) }; } catch { return {}; } };
const remember = (id, right) => {
  try {
    const all = missed();
    if (right) delete all[id]; else all[id] = location.pathname;
    localStorage.setItem(KEY, JSON.stringify(all));
  } catch { /* a browser that keeps nothing: the quiz works all the same */ }
};
for (const question of root.querySelectorAll("fieldset")) {
  const id = question.dataset.question;
  const many = "many" in question.dataset;
  const guess = "guess" in question.dataset;
  const group = `${id}-${document.querySelectorAll("[data-course-quiz] input").length}`;
  const before = id in missed();
  if (before) question.querySelector("legend").append(" ", make("small", { class: "course-quiz-again" }, "Missed last time."));
  let first = true;
  let moving = false;
  const options = [...question.querySelectorAll("details:not(.course-quiz-fold)")].map((details) => {
    const input = make("input", { type: many ? "checkbox" : "radio", name: group });
    const text = make("span", {}, ...details.querySelector("summary").childNodes);
    const why = make("div", { role: "status" });
    details.replaceWith(make("div", { class: "course-quiz-option" }, make("label", {}, input, text), why));
    return { input, why, right: "right" in details.dataset, reason: details.querySelector("div") };
  });
  const hint = make("p", { class: "course-quiz-hint", role: "status" });
  question.append(hint);
  const show = (chosen) => {
    hint.textContent = "";
    for (const { input, why, right, reason } of options) {
      if (input.checked && !why.firstChild) why.append(reason);
      if (!input.checked) why.replaceChildren();
      why.parentElement.dataset.verdict = input.checked ? (guess ? "guess" : right ? "right" : "wrong") : "";
    }
    const left = options.filter((option) => option.right && !option.input.checked).length;
    if (many && chosen.input.checked && chosen.right) hint.textContent = left ? `${left} more to find.` : "That is all of them.";
    if (first && !guess && chosen.input.checked && (!many || !chosen.right || !left)) {
      first = false;
      remember(id, chosen.right);
    }
  };
  for (const option of options) {
    option.input.addEventListener("keydown", (event) => {
      moving = !many && event.key.startsWith("Arrow");
      if (event.key === "Enter") { event.preventDefault(); option.input.checked = many ? !option.input.checked : true; show(option); }
      if (event.key === " " && option.input.checked && !many) show(option);
    });
    option.input.addEventListener("change", () => {
      if (!moving) return show(option);
      moving = false;
      for (const other of options) { other.why.replaceChildren(); other.why.parentElement.dataset.verdict = ""; }
      hint.textContent = "Press Space to answer.";
    });
  }
}
