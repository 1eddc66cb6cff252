// "Try the translator": a reader's sentence, the translation token by token, and who looked at whom. course.js loads this
// file, the model and its weights when a reader asks for them.
"use strict";

const LONGEST_SOURCE = 40; // tokens; in training, the longest sentence has 29
const END = 2; // the token
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

function courseTranslatorCard(place, translator) {
  const examples = JSON.parse(place.dataset.examples), parts = JSON.parse(place.dataset.parts ?? "{}");
  // The card of the front page knows the words of the training, and the sentences of the test with their references.
  const { words = "", test = [] } = globalThis.courseTranslatorKnown ?? {};
  const known = wordsIn(words), references = new Map(test);
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
  const another = element("button", { type: "button" }, `Another of its ${test.length.toLocaleString("en")} test sentences`);
  const menus = Object.entries(parts).map(([name, rows]) => {
    const options = Object.entries(rows).map(([text, gloss]) => element("option", { value: text }, text ? `${text} – ${gloss}` : gloss));
    return element("label", {}, `${name} `, element("select", {}, ...options));
  });
  const settings = element("div", { class: "course-translator-row" }, searchLabel, layerLabel, headLabel);
  const form = element("form", {},
    element("label", { for: input.id }, "A Korean sentence"),
    element("div", { class: "course-translator-row" }, input, element("button", { type: "submit" }, "Translate")),
    element("div", { class: "course-translator-row", role: "group", "aria-label": "Examples" }, "Examples: ", ...choices,
      ...(test.length ? [another] : [])));
  const said = element("p", { role: "status", class: "course-translator-said" });
  const beams = element("ol", { class: "course-translator-beams", hidden: "" });
  const about = element("p", { id: id("about") }, "How much each token looked at each Korean word while it was chosen, ",
    "in percent. A token with a dash goes on in the next one.");
  const table = element("table", { "aria-labelledby": about.id });
  const board = element("div", { class: "course-translator-map", role: "region", tabindex: 0, "aria-label": "Attention" }, table);
  const map = element("div", { hidden: "" }, about, board);
  // A chapter says what to choose, and has it above the result. On the front page, the result comes first.
  if (menus.length) {
    place.append(form, said, beams, map, byParts(), fold());
  } else {
    form.append(settings);
    place.append(form, said, beams, map);
  }

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
      settings);
  }

  let shown = { words: [], steps: [] };
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
    shown = { words: wordsOf(translator, ids), steps: [] };
    map.hidden = false;
  }

  // One row a token: the weights of the chosen layer, of one head or of all on average, added up over a word's tokens.
  function row({ token, logProb, cross }) {
    const rows = head.selectedIndex ? [cross[layer.selectedIndex][head.selectedIndex - 1]] : cross[layer.selectedIndex];
    const sums = new Float32Array(shown.words.at(-1) + 1);
    for (const weights of rows) weights.forEach((weight, i) => { sums[shown.words[i]] += weight / rows.length; });
    const name = translator.tokens[token];
    const text = name.endsWith("</w>") ? name.slice(0, -4) : name === "<eos>" ? "(end)" : `${name}–`;
    const cells = [...sums].map((sum) => {
      const percent = Math.round(100 * sum);
      return element("td", { style: `--weight: ${percent}%` }, percent >= 1 ? String(percent) : "");
    });
    return element("tr", {}, element("th", { scope: "row" }, text), element("td", {}, Math.exp(logProb).toFixed(2)), ...cells);
  }

  // Of a sentence of the test, it is known whether the translation is right.
  function verdict(typed) {
    const reference = references.get(typed);
    if (!reference) return [];
    return reference === written()
      ? [element("span", { class: "course-right" }, " ✓ as expected.")]
      : [element("span", { class: "course-wrong" }, ` ✗ This is wrong. Expected: ${reference}.`)];
  }

  const text = (tokens) => translator.decode(tokens.filter((token) => token !== END));
  const written = () => text(shown.steps.map(({ token }) => token));
  const redraw = () => table.tBodies[0]?.replaceChildren(...shown.steps.map(row));
  for (const select of [layer, head]) select.addEventListener("change", redraw);

  async function translate() {
    const mine = ++run;
    const { text: typed, marks } = asRead(input.value);
    const problem = refusal(translator, typed);
    input.setAttribute("aria-invalid", String(Boolean(problem)));
    beams.hidden = true;
    if (problem) {
      map.hidden = true;
      said.ariaBusy = "false";
      said.replaceChildren(...problem);
      return;
    }
    const start = performance.now();
    const ids = translator.encode(typed), source = translator.read(ids);
    let chosen;
    if (search.selectedIndex) {
      let found;
      for (found of translator.beam(source, 4));
      const best = found.pool.length ? found.pool : found.open;
      chosen = best[0].tokens;
      beams.replaceChildren(...best.map(({ tokens, logProb }) => element("li", {},
        `${text(tokens)} · score ${minus(logProb / tokens.length)}: log-probability ${minus(logProb)}, `,
        `${tokens.length} tokens with the end`)));
      beams.hidden = false;
    }
    heading(typed, ids);
    said.textContent = "";
    said.ariaBusy = "true"; // it is read out when it is whole
    const slow = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    let seconds = (performance.now() - start) / 1000, since = performance.now();
    for (const step of translator.write(source, chosen && ((_, length) => chosen[length]))) {
      shown.steps.push(step);
      table.tBodies[0].append(row(step));
      said.textContent = written();
      seconds += (performance.now() - since) / 1000;
      if (slow) await new Promise((done) => setTimeout(done, 90));
      if (mine !== run) return; // another sentence came
      since = performance.now();
    }
    said.ariaBusy = "false";
    const letters = known.size ? [] : translator.unknown(typed);
    const notes = known.size ? notesOn(typed, written(), known) : [];
    if (letters.length) notes.push(" It has never met ", ...quoted(letters), " in this place of a word: the translation is a guess.");
    said.replaceChildren(element("strong", {}, written()), ...verdict(typed),
      ` ${shown.steps.length} tokens in ${seconds.toFixed(2)} seconds on this machine.`, ...notes,
      marks.length ? ` Left out: ${marks.map((mark) => `“${mark}”`).join(", ")}, never seen in training.` : "");
    place.dispatchEvent(new CustomEvent("translated", { detail: seconds }));
  }

  // On a phone, the result may be just below the screen.
  function show() {
    translate();
    said.scrollIntoView({ block: "nearest" });
  }

  form.addEventListener("submit", (event) => { event.preventDefault(); show(); });
  search.addEventListener("change", () => { if (input.value) translate(); });
  for (const choice of choices) choice.addEventListener("click", () => { input.value = choice.textContent; show(); });
  another.addEventListener("click", () => {
    [input.value] = test[Math.floor(test.length * Math.random())];
    show();
  });
  function translateParts() {
    input.value = menus.map((label) => label.querySelector("select").value).filter(Boolean).join(" ");
    translate();
  }
  for (const part of menus) part.addEventListener("change", translateParts);
  input.focus();
  if (!menus.length) return;
  translateParts();
  said.scrollIntoView({ block: "nearest" });
}

globalThis.courseTranslatorCard = courseTranslatorCard;
