// The search: every section of the book is a place of its own, found by the words of its title, its prose, and its code.
// `coursePlaces` holds them, from course-places.js: for each page its places as [anchor, title, prose, words of its code].
"use strict";

const UNASKED = new Set(("a an and are as at be but by can do does for from has have how i if in is it its many me much my not of on "
  + "or should so than that the then there this to vs was we what when where which why will with you your").split(" "));
// Where a place of these kinds answers, the section that it practices, lists, or sums up answers better.
const QUIETER = [[/^book\/(systems|equations|results)/, 0.5], [/^book\/pitfalls/, 0.5], [/#(quiz|recap|what-now|further-reading|warm-up)$/, 0.4],
  [/#exercise-/, 0.8], [/#aside-/, 0.7], [/^book\/index/, 0.7]];
const LENGTH = 160; // of what is shown of a place

// A chapter, an exercise, or an aside is found by its name, without number, stars, and minutes.
const nameOf = (title) => title.replace(/^(\d\d · |Exercise: |Aside: )/, "").replace(/ · [★☆].*$/, "").replaceAll("’", "'").toLowerCase();

// The words of a text as they are compared: LayerNorm is layer norm, d_k is dk, √ is sqrt, 0 is zero, heads is head.
const SAME = { "√": "sqrt", "∞": "inf", infinity: "inf", 0: "zero", kv: "key value", rnn: "recurrent" };
const stem = (word) => (word.length > 4 && /[a-z]/.test(word) ? word.replace(/(?<=.{3})(?:ing|ed|es|s|e)$/, "") : word);
function wordsOf(text, whole) {
  const plain = text.replace(/([a-z])([A-Z])/g, "$1 $2").normalize("NFKC").toLowerCase()
    .replace(/√|∞|(?<![\p{L}\p{N}_]|\d[.,])(?:infinity|0|kv|rnn)(?![\p{L}\p{N}_]|[.,]\d)/gu, (found) => ` ${SAME[found]} `);
  return (plain.match(/[\p{L}\p{N}]+(?:[_-][\p{L}\p{N}]+)*/gu) ?? []).flatMap((found) => {
    const parts = found.split(/[_-]/), joined = parts.join("");
    return (whole || parts.length === 1 ? [joined] : [joined, ...parts.filter((part) => part.length > 1)]).map(stem);
  });
}

// One letter more, less, or another, or two of them in the wrong order.
function typo(one, other) {
  const shorter = Math.min(one.length, other.length);
  let start = 0, end = 0;
  while (start < shorter && one[start] === other[start]) start++;
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const [left, right] = [one, other].map((word) => word.slice(start, word.length - end));
  return Math.max(left.length, right.length) <= 1 || (left.length === 2 && right === left[1] + left[0]);
}

// All places, and how many have each word.
function readPlaces(pages) {
  const places = [], inPlaces = new Map(), titled = new Set();
  for (const [page, parts] of Object.entries(pages)) {
    let around = parts[0]?.[1];
    for (const [id, title, prose, code] of parts) {
      const at = id ? `${page}#${id}` : page;
      if (/^\d\d · /.test(title)) around = title;
      let kind = "section";
      if (!id) kind = page.startsWith("chapters/") ? "chapter" : "page";
      else if (title.startsWith("Exercise: ")) kind = "exercise";
      else if (prose && page === "book/glossary") kind = "glossary term";
      else if (prose && page === "book/pitfalls") kind = "pitfall";
      const within = around === title ? parts[0][1] : around;
      // A term of the glossary begins with its Korean names.
      const names = [title, ...(kind === "glossary term" ? prose.match(/^[^.]*/)[0].split(", ") : [])];
      const heading = names.flatMap((name) => wordsOf(name)), body = [...wordsOf(prose), ...wordsOf(code)];
      const counts = new Map();
      for (const word of body) counts.set(word, (counts.get(word) ?? 0) + 1);
      for (const word of heading) counts.set(word, (counts.get(word) ?? 0) + 5);
      for (const word of counts.keys()) inPlaces.set(word, (inPlaces.get(word) ?? 0) + 1);
      for (const word of heading) titled.add(word);
      const quiet = QUIETER.reduce((factor, [where, less]) => (where.test(at) ? factor * less : factor), 1);
      places.push({ page, id, at, title, prose, names: names.map((name) => wordsOf(nameOf(name), true)), counts, length: body.length, quiet, text: ` ${[...heading, ...body].join(" ")} `,
        stands: id && kind !== "glossary term" ? `${kind} in ${within}` : kind });
    }
  }
  const length = places.reduce((sum, place) => sum + place.length, 0) / places.length;
  return { places, inPlaces, titled, length };
}

// What is asked, as words: a word that no place has is taken for one of a title that is a slip of a key away.
function asked(query, { inPlaces, titled }) {
  const words = wordsOf(query, true);
  const meant = words.filter((word) => !UNASKED.has(word));
  return (meant.length ? meant : words).map((word) => {
    if (inPlaces.has(word) || word.length < 4) return word;
    return [...titled].find((one) => one.length > 3 && typo(word, one)) ?? word;
  });
}

// Places by how well they answer: rare words weigh more, in a title most, and so do neighbors that stay neighbors.
function search(query, known) {
  const terms = asked(query, known), name = nameOf(query.trim()), meant = terms.join(" ");
  const slip = !wordsOf(query, true).join(" ").includes(meant);
  const weights = terms.map((term) => Math.log(1 + known.places.length / (1 + (known.inPlaces.get(term) ?? 0))));
  const scored = known.places.map((place) => {
    let score = 0, found = 0;
    terms.forEach((term, i) => {
      const count = place.counts.get(term);
      if (!count) return;
      found += weights[i];
      score += weights[i] * count / (count + 0.4 + 0.8 * place.length / known.length);
      if (i && place.text.includes(` ${terms[i - 1]} ${term} `)) score += 0.5 * weights[i];
    });
    const all = weights.reduce((sum, weight) => sum + weight, 0);
    for (const words of place.names) { // a name that is asked for whole
      if (words.length && words.every((word) => terms.includes(word))) {
        score += terms.reduce((sum, term, i) => sum + (words.includes(term) ? weights[i] : 0), 0);
      }
    }
    const named = place.names.some((words) => words.join(" ") === meant) ? 1000 : 0;
    const exactly = nameOf(place.title) === name || (slip && named) ? (place.id ? 2000 : 2001) : 0;
    return { place, score: score * place.quiet * (found / all) ** 2 + named + exactly };
  });
  const best = scored.filter(({ score }) => score > 0).sort((one, other) => other.score - one.score);
  return { terms, found: best.slice(0, 40).map(({ place }) => place) };
}

// The sentence of a place that has most of what was asked, or how it begins.
function excerpt({ prose }, terms) {
  const sentences = prose.match(/.+?(?:[.?!:](?= |$)|$)/g) ?? [];
  const hits = sentences.map((sentence) => {
    const words = new Set(wordsOf(sentence));
    return terms.filter((term) => words.has(term)).length;
  });
  const best = hits.indexOf(Math.max(...hits));
  const text = (sentences.slice(Math.max(best, 0)).join("") || prose).trim();
  return text.length <= LENGTH ? text : `${text.slice(0, LENGTH - 2).replace(/\s\S*$/, "")} …`;
}

// Each result with these words, from the first key on. Enter leads to the first one, arrows lead from one to the next.
function showFound() {
  let known;
  const made = (tag, textContent) => Object.assign(document.createElement(tag), { textContent });
  globalThis.courseSearch = (query) => search(query, (known ??= readPlaces(coursePlaces)));
  Search.query = (query) => {
    const { terms, found } = query.trim() ? courseSearch(query) : { found: [] };
    const none = query.trim() && "Nothing was found: try fewer words, or another word for the same thing.";
    Search.stopPulse();
    Search.status.role = "status";
    Search.status.textContent = found.length ? `${found.length} place${found.length > 1 ? "s" : ""}` : none;
    Search.output.replaceChildren(...found.map((place) => {
      const item = document.createElement("li"), link = made("a", place.title);
      link.href = place.page + DOCUMENTATION_OPTIONS.LINK_SUFFIX + (place.id && `#${place.id}`);
      item.append(link, made("small", place.stands));
      const text = excerpt(place, terms);
      if (text) item.append(made("p", text));
      return item;
    }));
  };
  const form = document.querySelector(".bd-search-container form"), input = form?.elements.q;
  let later;
  const ask = () => {
    clearTimeout(later);
    history.replaceState(null, "", `?q=${encodeURIComponent(input.value)}`);
    if (Search.output) Search.query(input.value);
    else Search.performSearch(input.value);
  };
  const links = () => document.querySelectorAll("#search-results a");
  const begin = () => { // once the page is seen: before, nothing on it takes the keys
    if (document.documentElement.classList.contains("course-early")) setTimeout(begin, 50);
    else input?.select();
  };
  begin();
  input?.addEventListener("input", () => {
    clearTimeout(later);
    later = setTimeout(ask, 150);
  });
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
    links()[0]?.focus();
  });
  form?.parentElement.addEventListener("keydown", (event) => {
    const stops = [input, ...links()], step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = step && stops[stops.indexOf(document.activeElement) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}

document.addEventListener("DOMContentLoaded", () => { if (typeof Search !== "undefined") showFound(); });
