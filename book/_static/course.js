// The few things that need a script: a filter for the pitfalls, the questions to look at again, wide formulas that a
// keyboard can scroll, what terms mean, an exercise to click, and the translator, which is loaded afterwards.

// Paper is light, and shows what a page keeps folded: all but code that was folded, questions and solutions.
const KEPT = ".course-fold-input, .course-solution details, .course-quiz details";
let screenTheme, unfolded = [];
window.addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll(".bd-article details:not([open])")].filter((fold) => !fold.matches(KEPT));
  for (const fold of unfolded) fold.open = true;
  screenTheme = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
});
window.addEventListener("afterprint", () => {
  for (const fold of unfolded) fold.open = false;
  document.documentElement.dataset.theme = screenTheme;
});

// A drawer has done its work when a section of this page is chosen in it: the keyboard goes on there.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("dialog[open] a[href^='#']");
  const drawer = link?.closest("dialog");
  drawer?.addEventListener("close", () => {
    const heading = namedBy(link.hash)?.querySelector("h1, h2, h3, h4");
    heading?.setAttribute("tabindex", "-1");
    heading?.focus({ preventScroll: true });
  }, { once: true });
  drawer?.close();
});

document.addEventListener("DOMContentLoaded", () => {
  if (document.readyState !== "complete") addEventListener("load", layOut);
  else layOut();
  for (const place of document.querySelectorAll("[data-course-filter]")) filter(place);
  for (const place of document.querySelectorAll("[data-course-missed]")) listMissed(place);
  for (const place of document.querySelectorAll("[data-course-progress]")) showProgress(place);
  if (/\/chapters\/\d\d_[^/]*$/.test(location.pathname)) keepProgress();
  for (const caption of document.querySelectorAll("[data-course-moves]")) {
    const figure = caption.closest(".course-captioned");
    const say = () => {
      const { said, text } = figure.querySelector(".course-frame:not([hidden])").dataset;
      if (said) caption.innerHTML = said;
      else caption.textContent = text; // run anew
    };
    figure.addEventListener("input", say);
    say(); // a browser may keep what was chosen on an earlier visit
  }
  const terms = document.querySelectorAll(".course-term");
  if (terms.length) explainTerms(terms);
  for (const place of document.querySelectorAll("[data-course-translator]")) offerTranslator(place);
  for (const card of document.querySelectorAll(".course-first-exercise")) answerClicks(card);
  for (const dialog of document.querySelectorAll("#pst-search-dialog")) answerSearch(dialog);
});

// A page is laid out a section a frame, so that none takes long: what is far from the screen waits for its turn. Blocks
// and formulas that may be wider than their place are asked when all have had theirs.
function layOut() {
  const waiting = [...document.querySelectorAll(".course-later")];
  const next = () => {
    waiting.shift()?.classList.add("course-laid");
    if (waiting.length) return requestAnimationFrame(() => setTimeout(next));
    document.documentElement.dataset.courseLaid = "";
    const ask = () => {
      document.dispatchEvent(new Event("toggle")); // the theme's script listens
      reachable();
    };
    ask();
    document.fonts.addEventListener("loadingdone", ask); // letters that arrive late may make a block wider than its place
    addEventListener("resize", reachable);
  };
  next();
}

function reachable() {
  for (const wide of document.querySelectorAll(".course-formula, .course-captioned :is(figure, .course-frame)")) {
    if (wide.scrollWidth > wide.clientWidth && getComputedStyle(wide).overflowX !== "visible") wide.tabIndex = 0;
    else wide.removeAttribute("tabindex");
  }
}

// A choice with these options, under these words.
function menu(words, options) {
  const label = Object.assign(document.createElement("label"), { textContent: `${words} ` });
  const select = document.createElement("select");
  select.append(...options.map(([value, text]) => new Option(text, value)));
  label.append(select);
  return [label, select];
}

// What a page needs only when its reader asks for it; a page opened from a folder can load scripts alone.
function loadScript(src) {
  return new Promise((loaded, failed) => {
    const script = Object.assign(document.createElement("script"), { src, onload: loaded });
    script.onerror = () => failed(String(src).split("/").at(-1));
    document.head.append(script);
  });
}

// The search's dialog shows the first places while its reader types; Enter leads to the page that has all of them.
function answerSearch(dialog) {
  const form = dialog.querySelector("form"), input = form.elements.q, root = new URL(".", form.action);
  const list = Object.assign(document.createElement("ul"), { className: "course-found", ariaLabel: "First results" });
  form.after(list);
  const item = ({ page, id, title, stands }) => {
    const link = Object.assign(document.createElement("a"), { textContent: title });
    link.href = new URL(page + DOCUMENTATION_OPTIONS.LINK_SUFFIX + (id && `#${id}`), root);
    const made = document.createElement("li");
    made.append(link, Object.assign(document.createElement("small"), { textContent: stands }));
    return made;
  };
  let known, later;
  const show = async () => {
    known ??= loadScript(new URL("_static/course-places.js", root))
      .then(() => loadScript(new URL("_static/course-search.js", root)))
      .then(() => readPlaces(coursePlaces));
    const places = await known;
    list.replaceChildren(...(input.value.trim() ? search(input.value, places).found.slice(0, 5) : []).map(item));
  };
  input.addEventListener("input", () => {
    clearTimeout(later);
    later = setTimeout(show, 150);
  });
  list.addEventListener("click", ({ target }) => { if (target.closest("a")) dialog.close(); });
}

// The catalogue by words, chapter, and kind. What is looked for is unfolded; what does not fit is out of sight.
function filter(place) {
  const groups = [...place.closest("section").querySelectorAll(":scope > section")];
  const rowsOf = (group) => [...group.querySelectorAll(":scope > section, :scope > details > section")];
  const rows = groups.flatMap(rowsOf);
  const text = new Map(); // of the rows that were looked into
  const has = (row, word) => (text.get(row) ?? text.set(row, row.textContent.toLowerCase()).get(row)).includes(word);
  const label = Object.assign(document.createElement("label"), { textContent: "Filter by words " });
  const input = Object.assign(document.createElement("input"), { type: "search", autocomplete: "off" });
  const titles = groups.map((group) => [group.id, group.querySelector("h2").firstChild.textContent]);
  const [chapterLabel, chapter] = menu("Chapter", [["", "all"], ...titles]);
  const kinds = [["", "all"], ["course-crash", "stops with an error"], ["course-silent", "runs, with wrong numbers"],
    ["course-misleading", "a wrong explanation"]];
  const [kindLabel, kind] = menu("Kind", kinds);
  const count = Object.assign(document.createElement("p"), { role: "status" });
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const asked = words.length > 0 || chapter.value !== "" || kind.value !== "";
    let left = 0;
    for (const group of groups) {
      const fitting = (row) => (!chapter.value || group.id === chapter.value)
        && (!kind.value || row.classList.contains(kind.value)) && words.every((word) => has(row, word));
      const found = rowsOf(group).filter((row) => !(row.hidden = !fitting(row))).length;
      left += found;
      group.hidden = !found;
      const fold = group.querySelector(":scope > details");
      if (fold) fold.open = asked;
      const number = group.querySelector(".course-count");
      if (number) number.textContent = found;
    }
    count.textContent = asked ? `${left} of ${rows.length} mistakes` : `${rows.length} mistakes`;
  };
  for (const control of [input, chapter, kind]) control.addEventListener("input", show);
  label.append(input);
  place.classList.add("course-filter");
  place.append(label, chapterLabel, kindLabel, count);
  show();
  unfold();
  addEventListener("hashchange", unfold);
}

// The element that the end of an address names, where it is spelled rightly: `#%` is not.
function namedBy(hash) {
  try {
    return document.getElementById(decodeURIComponent(hash.slice(1)));
  } catch {
    return null;
  }
}

// What an address names is unfolded: not every browser does so by itself.
function unfold() {
  const named = location.hash.length > 1 && namedBy(location.hash);
  let fold = named && named.closest("details:not([open])");
  if (!fold) return;
  for (; fold; fold = fold.parentElement.closest("details:not([open])")) fold.open = true;
  named.scrollIntoView();
}

// How far each chapter was read, kept by this browser and nobody else: the share of its sections that were seen.
const READ = "transformer-course-read";
function progress() {
  try { return { ...JSON.parse(localStorage.getItem(READ)) }; } catch { return {}; }
}

function keepProgress() {
  const headings = [...document.querySelectorAll(".bd-article > section > section > h2")];
  const words = (heading) => heading.firstChild?.textContent.trim() ?? "";
  const title = words(document.querySelector(".bd-article h1"));
  const observer = new IntersectionObserver((entries) => {
    const seen = entries.filter((entry) => entry.isIntersecting).map((entry) => headings.indexOf(entry.target));
    if (!seen.length) return;
    const all = progress(), before = all[location.pathname] ?? {}, at = Math.max(...seen);
    const share = Math.max(before.share || 0, (at + 1) / headings.length);
    const place = headings[at].parentElement.id;
    all[location.pathname] = { title, place, name: words(headings[at]), share, when: Date.now() };
    try { localStorage.setItem(READ, JSON.stringify(all)); } catch { /* a browser that keeps nothing */ }
  });
  for (const heading of headings) observer.observe(heading);
}

// Where the reader was last, and beside each chapter how much of it was seen.
function showProgress(place) {
  const all = Object.entries(progress()).filter(([page, kept]) => page.startsWith("/") && kept?.share > 0);
  if (!all.length) return;
  const [page, last] = all.reduce((one, other) => ((other[1].when || 0) > (one[1].when || 0) ? other : one));
  const link = Object.assign(document.createElement("a"), { textContent: `${last.title}, “${last.name}”` });
  link.href = `${page}#${encodeURIComponent(last.place)}`;
  const line = document.createElement("p");
  line.append("You were last at ", link, ".");
  place.append(line);
  place.hidden = false;
  const first = document.querySelector(".course-first"); // the first button leads on, not to the beginning
  if (first) {
    first.href = link.href;
    first.textContent = `Continue with ${last.title}`;
    document.querySelector(".course-begin")?.remove();
  }
  for (const chapter of document.querySelectorAll(".course-chapters li a")) {
    const kept = all.find(([name]) => name === chapter.pathname)?.[1];
    if (!kept) continue;
    const percent = Math.round(100 * Math.min(1, kept.share));
    const note = Object.assign(document.createElement("em"), { textContent: ` · ${percent}% seen` });
    chapter.parentElement.append(note);
  }
}

function listMissed(place) {
  let missed = {};
  try { missed = { ...JSON.parse(localStorage.getItem("transformer-course-missed")) }; } catch { /* nothing kept */ }
  const list = document.createElement("ul");
  for (const [id, page] of Object.entries(missed)) {
    if (typeof page !== "string" || !page.startsWith("/")) continue;
    const [subject, name] = id.split(".");
    const link = document.createElement("a");
    link.href = `${page}#quiz-${id.replace(/[._]/g, "-")}`;
    link.textContent = `${subject.replaceAll("_", " ")}: ${(name || "").replaceAll("_", " ")}`;
    list.append(Object.assign(document.createElement("li"), {}));
    list.lastChild.append(link);
  }
  place.append(list);
  place.hidden = !list.childElementCount;
}

// The translator is more than 1 MB of weights.
async function openTranslator(place) {
  const { courseTranslator: folder, script: weights } = place.dataset;
  try {
    for (const name of ["model.js", "card.js", weights]) await loadScript(`${folder}/${name}`);
    const translator = await CourseTranslator.open(courseTranslatorWeights);
    place.querySelector("[role=alert]")?.remove();
    place.querySelector("[data-open]")?.remove();
    return courseTranslatorCard(place, translator);
  } catch (reason) {
    const found = typeof reason === "string" ? `no ${reason}` : reason.message;
    const told = place.querySelector("[role=alert]") ?? document.createElement("p");
    told.setAttribute("role", "alert");
    told.textContent = `Expected the translator’s files in ${folder}, got ${found}: build the book anew.`;
    place.append(told);
    return null;
  }
}

// A chapter's is loaded by a button. That of the front page writes a sentence by itself, when the page has time for it
// and its reader does not ask to save data.
function offerTranslator(place) {
  const { first, size } = place.dataset;
  let card;
  const opened = async () => (card = (await (card ??= openTranslator(place))) ?? undefined);
  if (first === undefined) {
    const words = `Open the translator (${size})`;
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: words });
    button.dataset.open = "";
    button.addEventListener("click", async () => {
      Object.assign(button, { disabled: true, textContent: "Loading …" });
      await opened();
      Object.assign(button, { disabled: false, textContent: words });
    });
    place.querySelector("[data-without-script]").replaceWith(button);
    return;
  }
  place.querySelector("[data-another]").addEventListener("click", async () => (await opened())?.());
  place.querySelector("details").addEventListener("toggle", opened);
  if (navigator.connection?.saveData) return;
  const seen = new IntersectionObserver(([{ isIntersecting }]) => {
    if (!isIntersecting) return;
    seen.disconnect();
    (globalThis.requestIdleCallback ?? setTimeout)(async () => (await opened())?.(Number(first)));
  });
  seen.observe(place);
}

// The exercise on the front page: a table of cells to click, answered with the messages of the exercise in chapter 05.
function answerClicks(card) {
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

// A link to a term of the glossary says what it means where it stands, and a block of the map what goes in and out: under the pointer, at the keyboard's focus, and
// at the first touch; the second one follows it. Escape, or leaving it, takes the words away.
function explainTerms(terms) {
  const box = Object.assign(document.createElement("div"), { id: "course-means", role: "tooltip", hidden: true });
  const korean = Object.assign(document.createElement("b"), { lang: "ko" });
  const means = document.createElement("span");
  let shown, later;
  box.append(korean, " ", means);
  document.body.append(box);
  const hide = () => {
    clearTimeout(later);
    box.hidden = true;
    shown?.removeAttribute("aria-describedby");
    shown = undefined;
  };
  const leave = () => { later = setTimeout(hide, 300); };
  const show = (term) => {
    hide();
    [korean.textContent, means.textContent] = [term.dataset.hangul, term.dataset.means];
    box.hidden = false;
    const line = term.getClientRects()[0], { clientWidth, clientHeight } = document.documentElement;
    const below = line.bottom + box.offsetHeight + 8 < clientHeight;
    box.style.left = `${scrollX + Math.max(8, Math.min(line.left, clientWidth - box.offsetWidth - 8))}px`;
    box.style.top = `${scrollY + (below ? line.bottom + 4 : line.top - box.offsetHeight - 4)}px`;
    term.setAttribute("aria-describedby", box.id);
    shown = term;
  };
  for (const term of terms) {
    term.addEventListener("pointerenter", ({ pointerType }) => { if (pointerType !== "touch") show(term); });
    term.addEventListener("focus", () => { if (term.matches(":focus-visible")) show(term); });
    for (const end of ["pointerleave", "blur"]) term.addEventListener(end, leave);
    term.addEventListener("click", (event) => {
      if (event.pointerType !== "touch" || shown === term) return;
      event.preventDefault();
      show(term);
    });
  }
  box.addEventListener("pointerenter", () => clearTimeout(later));
  box.addEventListener("pointerleave", leave);
  addEventListener("keydown", ({ key }) => { if (key === "Escape") hide(); });
  addEventListener("pointerdown", ({ target }) => { if (shown && !shown.contains(target) && !box.contains(target)) hide(); });
}
