// "Try the translator": a reader's sentence, the translation token by token, and who looked at whom. course.js loads this
// file, the model and its weights when a reader asks for them.
"use strict";

const LONGEST_SOURCE = 40; // tokens; in training, the longest sentence has 29
const END = 2; // the token
const FAINT = 0.05; // less weight than this is not drawn
const KOREAN = /^\p{Script=Hangul}$/u;
// As course_lib/text.py has them: what nobody sees (joiners, too, which change no Korean letter), spaces, and marks. Its
// training had no marks.
const UNSEEN = /[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]/g;
const SPACES = /[\s\x1c-\x1f\x85]+/g;
const MARKS = /[\p{P}\p{S}\p{Cf}\ufe00-\ufe0f]/gu;

const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const drawn = (name, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const minus = (number) => number.toFixed(2).replace("-", "−");
const korean = (text) => element("span", { lang: "ko" }, text);

// A text as the translator reads it, and the marks that are left out: as `Translator.as_read` in Python.
function asRead(typed) {
  const text = typed.replace(UNSEEN, "").normalize("NFC");
  return { text: text.replace(MARKS, "").replace(SPACES, " ").trim(), marks: [...new Set(text.match(MARKS))] };
}

// The words that a front-coded text holds: as `from_front_coded` in Python.
function wordsIn(text) {
  const words = new Set();
  let word = "";
  for (const [, shared, rest] of text.matchAll(/(\d)(\D*)/g)) words.add((word = word.slice(0, Number(shared)) + rest));
  return words;
}

// A given name in Latin letters: as `romanize` in Python.
const LEADS = "g kk n d tt r m b pp s ss  j jj ch k t p h".split(" ");
const VOWELS = "a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i".split(" ");
const FINALS = { 0: "", 1: "k", 4: "n", 8: "l", 16: "m", 17: "p", 21: "ng" };
function romanized(name) {
  const latin = [...name].map((syllable) => {
    const code = syllable.codePointAt(0) - 0xac00;
    return LEADS[Math.floor(code / 588)] + VOWELS[Math.floor(code / 28) % 21] + (FINALS[code % 28] ?? "?");
  }).join("");
  return latin[0].toUpperCase() + latin.slice(1);
}

// A short list by hand, of what people often begin with: the training has no first or second person and no greetings,
// though it may have the same letters in another use (나는 is also "flying").
const BEGINNINGS = { 나는: "I", 저는: "I", 내가: "I", 제가: "I", 너는: "you", 우리는: "we", 안녕하세요: "hello" };
const isBeginning = (word, place) => place === 0 && Object.hasOwn(BEGINNINGS, word);

// What is to be said of the words of a text that the training did not have, as the pieces of sentences. A word whose
// first syllables came out as a name is one.
function notesOn(text, translation, known) {
  const written = new Set(translation.split(" "));
  const nameIn = (word) => [2, 3].map((length) => word.slice(0, length)).find((start) => written.has(romanized(start)));
  const all = text.split(" "), meaning = isBeginning(all[0], 0) && BEGINNINGS[all[0]];
  const unmet = all.filter((word, place) => !known.has(word) && !isBeginning(word, place));
  const names = unmet.map(nameIn).filter(Boolean), words = unmet.filter((word) => !nameIn(word));
  return [
    ...(meaning ? [" It has never met ", ...quoted([all[0]]), ` in the sense of “${meaning}”: if you mean that, the translation is a guess.`] : []),
    ...(names.length ? [" None of its names is ", ...quoted(names), ": it spells it by its sounds."] : []),
    ...(words.length ? [" It has never met ", ...quoted(words), ": the translation is a guess."] : []),
  ];
}

const quoted = (words) => [...new Set(words)].flatMap((word, i) => [i ? ", “" : "“", korean(word), "”"]);

// What keeps the translator from reading a text, as the pieces of a sentence; nothing where it can be read.
function refusal(translator, text) {
  if (!text) return ["Expected a Korean sentence, got nothing: type one, or choose an example."];
  const foreign = [...text].find((letter) => letter !== " " && !KOREAN.test(letter));
  if (foreign) return [`Expected Korean letters and spaces, got “${foreign}”: leave it out, or write it in Korean letters.`];
  const count = translator.encode(text).length;
  if (count > LONGEST_SOURCE) return [`Expected at most ${LONGEST_SOURCE} tokens, got ${count}: write a shorter sentence.`];
  return null;
}

// Source tokens as words: for each token the number of its word. The end of the sentence stands behind all words.
function wordsOf(translator, ids) {
  let word = 0;
  return [...ids.map((id) => (translator.tokens[id].endsWith("</w>") ? word++ : word)), word];
}

// The words of two rows that stand between what both begin and end with: where a translation differs from the best.
function apart(words, best) {
  let start = 0, end = 0;
  const shorter = Math.min(words.length, best.length);
  while (start < shorter && words[start] === best[start]) start++;
  while (end < shorter - start && words.at(-1 - end) === best.at(-1 - end)) end++;
  return [words.slice(0, start), words.slice(start, words.length - end), words.slice(words.length - end)];
}

// The card of a page; gives what writes a sentence of the test.
function courseTranslatorCard(place, translator) {
  const examples = JSON.parse(place.dataset.examples), parts = JSON.parse(place.dataset.parts ?? "{}");
  // The card of the front page knows the words of the training, and the sentences of the test with their references.
  const { words = "", test = [] } = globalThis.courseTranslatorKnown ?? {};
  const known = wordsIn(words);
  const tested = new Map(test.map(([source, reference, glosses]) => [source, { reference, glosses: glosses.split("|") }]));
  const { n_layers: layers, n_heads: heads } = translator.config;
  const id = (name) => `${place.id}-${name}`;
  const menu = (name, options, start) => {
    const select = element("select", {}, ...options.map((text) => element("option", {}, text)));
    select.selectedIndex = start;
    return [element("label", {}, `${name[0].toUpperCase()}${name.slice(1)} `, select), select];
  };
  const input = element("input", { id: id("sentence"), lang: "ko", autocomplete: "off", spellcheck: "false", maxlength: 200 });
  const [searchLabel, search] = menu("search", ["greedy", "beam of 4"], 0);
  const [layerLabel, layer] = menu("layer", Array.from({ length: layers }, (_, i) => String(i)), layers - 1);
  const [headLabel, head] = menu("head", ["mean of all", ...Array.from({ length: heads }, (_, i) => String(i))], 0);
  const choices = examples.map((text) => element("button", { type: "button", lang: "ko" }, text));
  const menus = Object.entries(parts).map(([name, rows]) => {
    const options = Object.entries(rows).map(([text, gloss]) => element("option", { value: text }, text ? `${text} – ${gloss}` : gloss));
    return element("label", {}, `${name} `, element("select", {}, ...options));
  });
  const settings = element("div", { class: "course-translator-row" }, searchLabel, layerLabel, headLabel);
  const form = element("form", {},
    element("label", { for: input.id }, "A Korean sentence"),
    element("div", { class: "course-translator-row" }, input, element("button", { type: "submit" }, "Translate")),
    element("div", { class: "course-translator-row", role: "group", "aria-label": "Examples" }, "Examples: ", ...choices));
  const picture = place.querySelector(".course-translator-board"); // on the front page
  const said = place.querySelector("[role=status]") ?? element("p", { role: "status", class: "course-translator-said" });
  const beams = element("table", { class: "course-translator-beams", "aria-label": "Found by the beam", hidden: "" });
  const about = element("p", { id: id("about") }, "How much each token looked at each Korean word while it was chosen, ",
    "in percent. A token with a dash goes on in the next one.");
  const table = element("table", { "aria-labelledby": about.id });
  const board = element("div", { class: "course-translator-map", role: "region", tabindex: 0, "aria-label": "Attention" }, table);
  const map = element("div", { hidden: "" }, about, board);
  // A chapter says what to choose, and has it above the result. On the front page, the result comes first.
  const own = place.querySelector("details");
  if (own) {
    own.firstElementChild.after(form, byParts()); // what it knows is said below
    own.append(fold());
    own.addEventListener("toggle", () => { if (own.open) input.focus(); });
  } else {
    form.append(settings);
    place.append(form, said, beams, map);
  }
  if (!own || own.open) input.focus();

  function byParts() {
    const title = element("p", { id: id("parts") }, "A sentence by parts");
    return element("div", { class: "course-translator-parts", role: "group", "aria-labelledby": title.id }, title, ...menus);
  }

  function fold() {
    const flagged = Object.keys(BEGINNINGS).flatMap((word, i) => [i ? ", " : "", korean(word)]);
    return element("details", {}, element("summary", {}, "How it chooses, and where it looks"),
      element("p", {}, "Greedy search takes the most probable token at each step, and a beam of 4 keeps the four best beginnings. ",
        "The column “probability” shows how probable the model found the token that was chosen, and the layer and the head ",
        "choose whose attention the other columns show."),
      element("p", {}, "The card compares your words with the words of the training, but it does not see in which sense you use them. ",
        "Only a short list, at the beginning of a sentence, is flagged by hand: ", ...flagged, "."),
      settings, beams, map);
  }

  let shown = { text: "", words: [], steps: [] };
  let run = 0; // which sentence is being written: a new one ends the one before

  const isNew = (word, place) => (
    known.size ? !known.has(word) || isBeginning(word, place) : translator.unknown(word).length > 0);

  function column(text, attributes = {}) {
    return element("th", { scope: "col", ...attributes }, element("span", {}, text));
  }

  function heading(text, ids) {
    const columns = text.split(" ").map((word, place) => (
      column(word, { lang: "ko", ...(isNew(word, place) && { class: "course-new" }) })));
    table.replaceChildren(
      element("thead", {}, element("tr", {}, element("td"), column("probability"), ...columns, column("end"))),
      element("tbody"));
    shown = { text, words: wordsOf(translator, ids), steps: [] };
    map.hidden = false;
  }

  // How a token looked at each word, and at the end: with the chosen layer, one head or all on average, added up over a
  // word's tokens.
  function look({ cross }) {
    const rows = head.selectedIndex ? [cross[layer.selectedIndex][head.selectedIndex - 1]] : cross[layer.selectedIndex];
    const sums = new Float32Array(shown.words.at(-1) + 1);
    for (const weights of rows) weights.forEach((weight, i) => { sums[shown.words[i]] += weight / rows.length; });
    return sums;
  }

  // One row a token.
  function row(step) {
    const name = translator.tokens[step.token];
    const text = name.endsWith("</w>") ? name.slice(0, -4) : name === "<eos>" ? "(end)" : `${name}–`;
    const cells = [...look(step)].map((sum) => {
      const percent = Math.round(100 * sum);
      return element("td", { style: `--weight: ${percent}%` }, percent >= 1 ? String(percent) : "");
    });
    const probability = Math.exp(step.logProb).toFixed(2);
    return element("tr", {}, element("th", { scope: "row" }, text), element("td", {}, probability), ...cells);
  }

  // The front page's picture: the words of both languages, and a line from each written word to those that it looked at.
  function draw(typed, steps) {
    const words = [];
    for (const step of steps.filter(({ token }) => token !== END)) {
      const piece = translator.tokens[step.token], last = words.at(-1);
      if (last && !last.whole) Object.assign(last, { text: last.text + piece, looks: [...last.looks, look(step)] });
      else words.push({ text: piece, looks: [look(step)] });
      words.at(-1).whole = piece.endsWith("</w>");
    }
    const sources = typed.split(" "), glosses = tested.get(typed)?.glosses ?? [];
    const line = (weight, source, word) => {
      const middle = (place, count) => (100 * (place + 0.5) / count).toFixed(3);
      const left = middle(source, sources.length), right = middle(word, words.length);
      return drawn("path", { d: `M100 ${right}C50 ${right} 50 ${left} 0 ${left}`, style: `--weight: ${weight}` });
    };
    const [from, lines, to] = picture.children;
    picture.style.cssText = `--sources: ${sources.length}; --words: ${words.length}`;
    from.replaceChildren(...sources.map((word, i) => (
      element("li", isNew(word, i) ? { class: "course-new" } : {}, word, element("small", { lang: "en" }, glosses[i] ?? "")))));
    to.replaceChildren(...words.map(({ text }) => element("li", { "data-unwritten": "" }, text.replace("</w>", ""))));
    lines.replaceChildren(...words.map(({ looks }, word) => {
      const mean = sources.map((_, i) => looks.reduce((sum, one) => sum + one[i], 0) / looks.length);
      const group = drawn("g", { "data-unwritten": "" });
      mean.forEach((weight, i) => { if (weight >= FAINT) group.append(line(weight, i, word)); });
      return group;
    }));
    picture.hidden = false;
  }

  // So many words of the picture are written; one is marked with its lines.
  function point(marked, count = Infinity) {
    for (const part of [picture.children[1], picture.children[2]]) {
      [...part.children].forEach((child, i) => {
        child.classList.toggle("course-now", i === marked);
        child.toggleAttribute("data-unwritten", i >= count);
      });
    }
  }
  picture?.addEventListener("pointerover", ({ target }) => {
    if (said.ariaBusy !== "true") point([...picture.lastElementChild.children].indexOf(target));
  });
  picture?.addEventListener("pointerleave", () => { if (said.ariaBusy !== "true") point(-1); });

  // Of a sentence of the test, it is known whether the translation is right.
  const expected = (typed) => {
    const { reference } = tested.get(typed) ?? {};
    return reference ? [element("span", { class: "course-expected" }, `Expected: ${reference}`), " "] : [];
  };
  function verdict(typed) {
    const { reference } = tested.get(typed) ?? {};
    if (!reference) return [];
    return reference === written()
      ? [" ", element("span", { class: "course-right" }, "✓ as expected.")]
      : [" ", element("span", { class: "course-wrong" }, "✗ This is wrong.")];
  }

  const text = (tokens) => translator.decode(tokens.filter((token) => token !== END));
  const written = () => text(shown.steps.map(({ token }) => token));
  const redraw = () => {
    table.tBodies[0]?.replaceChildren(...shown.steps.map(row));
    if (!picture || !shown.steps.length) return;
    draw(shown.text, shown.steps);
    point(-1);
  };
  for (const select of [layer, head]) select.addEventListener("change", redraw);

  // What the beam found, best first; in each row is marked what the first one has not.
  function showBeam(best) {
    const [first, ...columns] = ["translation", "tokens", "log-probability", "score"];
    const rows = best.map(({ tokens, logProb }) => {
      const [before, differs, after] = apart(text(tokens).split(" "), text(best[0].tokens).split(" "));
      const parts = [before.join(" "), differs.length ? element("mark", {}, differs.join(" ")) : "", after.join(" ")];
      const words = parts.filter((part) => part !== "").flatMap((part, i) => (i ? [" ", part] : [part]));
      const numbers = [String(tokens.length), minus(logProb), minus(logProb / tokens.length)];
      return element("tr", {}, element("th", { scope: "row" }, ...words), ...numbers.map((one) => element("td", {}, one)));
    });
    const heads = [first, ...columns].map((name) => element("th", { scope: "col" }, name));
    beams.replaceChildren(element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
    beams.hidden = false;
  }

  async function translate() {
    const mine = ++run;
    const { text: typed, marks } = asRead(input.value);
    const problem = refusal(translator, typed);
    input.setAttribute("aria-invalid", String(Boolean(problem)));
    beams.hidden = true;
    if (problem) {
      map.hidden = true;
      if (picture) picture.hidden = true;
      said.ariaBusy = "false";
      said.replaceChildren(...problem);
      return;
    }
    said.ariaBusy = "true"; // it is read out when it is whole
    let seconds = 0;
    // One part of the work after another, with a moment between them, until another sentence comes.
    const all = async (parts, keep) => {
      for (;;) {
        const start = performance.now(), { value, done } = parts.next();
        seconds += (performance.now() - start) / 1000;
        if (done) return value;
        keep?.(value);
        await courseTranslatorPause();
        if (mine !== run) return null;
      }
    };
    const ids = translator.encode(typed), source = await all(translator.reading(ids));
    if (mine !== run) return;
    let found, chosen;
    if (search.selectedIndex) {
      await all(translator.beam(source, 4), (now) => { found = now; });
      if (mine !== run) return;
      const best = found.pool.length ? found.pool : found.open;
      chosen = best[0].tokens;
      showBeam(best);
    }
    const steps = [];
    await all(translator.write(source, chosen && ((_, length) => chosen[length])), (step) => steps.push(step));
    if (mine !== run) return;
    heading(typed, ids);
    if (picture) draw(typed, steps);
    const slow = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    said.style.minHeight = `${said.offsetHeight}px`; // what is below waits where it is
    for (const step of steps) {
      shown.steps.push(step);
      table.tBodies[0].append(row(step));
      const words = written().split(" ").length;
      if (picture) point(slow ? words - 1 : -1, words);
      said.replaceChildren(...expected(typed), element("strong", {}, written()));
      if (slow) await new Promise((done) => setTimeout(done, picture ? 180 : 90));
      if (mine !== run) return; // another sentence came
    }
    if (picture) point(-1);
    const letters = known.size ? [] : translator.unknown(typed);
    const notes = known.size ? notesOn(typed, written(), known) : [];
    if (letters.length) notes.push(" No word of its training has ", ...quoted(letters), " in that place: the translation is a guess.");
    said.replaceChildren(...expected(typed), element("strong", {}, written()), ...verdict(typed),
      ` ${steps.length} tokens in ${seconds.toFixed(2)} seconds on this machine.`, ...notes,
      marks.length ? ` Left out: ${marks.map((mark) => `“${mark}”`).join(", ")}, never seen in training.` : "");
    said.style.minHeight = "";
    said.ariaBusy = "false";
    place.dispatchEvent(new CustomEvent("translated", { detail: seconds }));
  }

  // On a phone, the result may be just outside of the screen.
  function show() {
    translate();
    (picture ?? said).scrollIntoView({ block: "nearest" });
  }

  form.addEventListener("submit", (event) => { event.preventDefault(); show(); });
  search.addEventListener("change", () => { if (input.value) translate(); });
  for (const choice of choices) choice.addEventListener("click", () => { input.value = choice.textContent; show(); });
  for (const part of menus) {
    part.addEventListener("change", () => {
      input.value = menus.map((label) => label.querySelector("select").value).filter(Boolean).join(" ");
      translate();
    });
  }

  // Write this sentence of the test, or any as long as the first: then what is below stays where it is.
  const long = [...test.keys()].filter((number) => {
    const [source, reference] = test[number].map((text) => text.split(" ").length);
    return [5, 6].includes(source) && reference <= 9;
  });
  return (number = long[Math.floor(long.length * Math.random())]) => {
    [input.value] = test[number];
    return translate();
  };
}

globalThis.courseTranslatorCard = courseTranslatorCard;
