// The course's translator in a browser, without a library: its tokenizer (chapter 12), encoder and decoder (09 to 11),
// the cache of keys and values, greedy and beam search (15). Vectors are Float32Arrays, sequences are lists of them.
"use strict";

const [PAD, BOS, EOS] = [0, 1, 2];
const MARK = "</w>"; // the end of a word

// What `python -m course_lib export` writes for pages: a safetensors file. The first 8 bytes say how long its header is;
// the header says what every tensor is called and where it stands. A matrix of bytes has a scale for each of its rows.
async function readTensors(bytes, pause) {
  const size = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const { __metadata__: about, ...entries } = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
  const read = ({ dtype, data_offsets: [from, to] }) => {
    const { buffer } = bytes.slice(8 + size + from, 8 + size + to);
    return dtype === "I8" ? new Int8Array(buffer) : new Float32Array(buffer);
  };
  const tensors = {};
  for (const [name, entry] of Object.entries(entries)) {
    if (name.endsWith(".scale")) continue;
    const numbers = read(entry), columns = entry.shape.at(-1);
    const scale = entries[`${name}.scale`] && read(entries[`${name}.scale`]);
    tensors[name] = scale ? new Float32Array(numbers) : numbers;
    for (let i = 0; scale && i < numbers.length; i++) tensors[name][i] *= scale[(i / columns) | 0];
    await pause();
  }
  return { about, tensors };
}

async function bytesOf(base64, pause) {
  const text = atob(base64), bytes = new Uint8Array(text.length), slice = 200_000;
  for (let from = 0; from < text.length; from += slice) {
    const to = Math.min(from + slice, text.length);
    for (let i = from; i < to; i++) bytes[i] = text.charCodeAt(i);
    await pause();
  }
  return bytes;
}

function softmax(scores) {
  const largest = scores.reduce((one, other) => Math.max(one, other));
  const powers = scores.map((score) => Math.exp(score - largest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

function logSoftmax(logits) {
  const largest = logits.reduce((one, other) => Math.max(one, other));
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - largest);
  return logits.map((logit) => logit - largest - Math.log(total));
}

const add = (x, y) => x.map((number, i) => number + y[i]);

// The numbers of four rows of a matrix side by side: of the first column, of the second, and so on. A product then reads
// them in the order in which they stand.
function inFours(matrix, columns) {
  const ordered = new Float32Array(4 * columns * Math.ceil(matrix.length / columns / 4));
  for (let row = 0, from = 0; from < matrix.length; row++) {
    for (let at = (row >> 2) * 4 * columns + (row & 3), last = from + columns; from < last; at += 4) ordered[at] = matrix[from++];
  }
  return ordered;
}

// W x + b, four rows at a time: their sums do not wait for each other.
function linear(weight, bias, x) {
  const columns = x.length, y = new Float32Array(weight.length / columns);
  for (let row = 0, at = 0; row < y.length; row += 4) {
    let one = 0, two = 0, three = 0, four = 0;
    for (let i = 0; i < columns; i++, at += 4) {
      const number = x[i];
      one += weight[at] * number;
      two += weight[at + 1] * number;
      three += weight[at + 2] * number;
      four += weight[at + 3] * number;
    }
    y[row] = one, y[row + 1] = two, y[row + 2] = three, y[row + 3] = four;
  }
  return bias ? add(bias, y) : y;
}

function layerNorm(gain, bias, x) {
  const mean = x.reduce((sum, number) => sum + number, 0) / x.length;
  const variance = x.reduce((sum, number) => sum + (number - mean) ** 2, 0) / x.length;
  const root = Math.sqrt(variance + 1e-5);
  return x.map((number, i) => gain[i] * ((number - mean) / root) + bias[i]);
}

// One query, every head: the mixed values, and the weights of each head.
function attend(query, keys, values, heads) {
  const size = query.length / heads, mixed = new Float32Array(query.length), weights = [];
  for (let head = 0; head < heads; head++) {
    const from = head * size, to = from + size;
    const row = softmax(keys.map((key) => {
      let score = 0;
      for (let i = from; i < to; i++) score += query[i] * key[i];
      return score / Math.sqrt(size);
    }));
    row.forEach((weight, j) => { for (let i = from; i < to; i++) mixed[i] += weight * values[j][i]; });
    weights.push(row);
  }
  return { mixed, weights };
}

// A page that waits for a moment between two parts of long work stays alive.
const courseTranslatorPause = () => new Promise((done) => { setTimeout(done); });

class CourseTranslator {
  static async open(base64, pause = courseTranslatorPause) {
    const { about, tensors } = await readTensors(await bytesOf(base64, pause), pause);
    const translator = new CourseTranslator(about, tensors);
    const { d_model: d, d_ff: inner } = translator.config;
    for (const [name, matrix] of Object.entries(tensors)) {
      if (name.endsWith(".weight")) tensors[name] = inFours(matrix, name.endsWith("w_2.weight") ? inner : d);
      await pause();
    }
    return translator;
  }

  constructor(about, tensors) {
    const { vocab, merges, specials } = JSON.parse(about.vocabulary);
    Object.assign(this, { config: JSON.parse(about.config), tensors, vocab });
    this.ranks = new Map(merges.map(([left, right], rank) => [`${left} ${right}`, rank]));
    this.tokens = Object.fromEntries([...Object.entries(vocab), ...Object.entries(specials)].map(([name, id]) => [id, name]));
    this.embedding = tensors["src_embedding.tokens.weight"]; // one matrix for both languages and for the output
  }

  // --- text

  // Joins the pair of lowest rank, again and again. Letters without a token are spelled by their bytes.
  encodeWord(word) {
    const letters = [...word], last = letters.at(-1) + MARK;
    const symbols = last in this.vocab ? [...letters.slice(0, -1), last] : [...letters, MARK];
    while (true) {
      let best = Infinity, place = -1;
      for (let i = 0; i + 1 < symbols.length; i++) {
        const rank = this.ranks.get(`${symbols[i]} ${symbols[i + 1]}`);
        if (rank < best) [best, place] = [rank, i];
      }
      if (place < 0) return symbols.flatMap((symbol) => this.vocab[symbol] ?? this.spelled(symbol));
      symbols.splice(place, 2, symbols[place] + symbols[place + 1]);
    }
  }

  spelled(letter) {
    return [...new TextEncoder().encode(letter)].map((byte) => this.vocab[`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`]);
  }

  encode(text) {
    return text.split(" ").flatMap((word) => this.encodeWord(word));
  }

  // The letters of a text that have no token where they stand: inside of a word, or at its end.
  unknown(text) {
    const known = (word) => [...word].filter((letter, i, all) => !((i + 1 < all.length ? letter : letter + MARK) in this.vocab));
    return text.split(" ").flatMap(known);
  }

  decode(ids) {
    return ids.map((id) => this.tokens[id].replace(MARK, " ")).join("").trimEnd();
  }

  // --- model

  part(name) {
    return [this.tensors[`${name}.weight`], this.tensors[`${name}.bias`]];
  }

  norm(name, x) {
    return layerNorm(this.tensors[`${name}.gain`], this.tensors[`${name}.bias`], x);
  }

  feedForward(name, x) {
    const inner = linear(...this.part(`${name}.w_1`), x).map((number) => Math.max(number, 0));
    return linear(...this.part(`${name}.w_2`), inner);
  }

  // √d_model · E[id], and a sine and a cosine for every clock.
  embed(id, position) {
    const d = this.config.d_model, row = this.embedding.subarray(id * d, (id + 1) * d);
    return row.map((number, i) => {
      const angle = position * Math.exp((-Math.log(10000) * (i - (i % 2))) / d);
      return number * Math.sqrt(d) + Math.fround(i % 2 ? Math.cos(angle) : Math.sin(angle));
    });
  }

  // The source, read once: for every layer of the decoder, the keys and values of its cross-attention. It yields
  // between two parts of the work.
  *reading(ids) {
    const { n_layers: layers, n_heads: heads } = this.config;
    let stream = [...ids, EOS].map((id, position) => this.embed(id, position));
    for (let layer = 0; layer < layers; layer++) {
      const name = `encoder.layers.${layer}`, attention = `${name}.attention`;
      const normed = stream.map((x) => this.norm(`${name}.residuals.0.norm`, x));
      const [queries, keys, values] = ["w_q", "w_k", "w_v"].map((w) =>
        normed.map((x) => linear(...this.part(`${attention}.${w}`), x)));
      yield;
      stream = stream.map((x, i) => {
        const mixed = linear(...this.part(`${attention}.w_o`), attend(queries[i], keys, values, heads).mixed);
        x = add(x, mixed);
        return add(x, this.feedForward(`${name}.feed_forward`, this.norm(`${name}.residuals.1.norm`, x)));
      });
      yield;
    }
    const memory = stream.map((x) => this.norm("encoder.norm", x));
    return Array.from({ length: layers }, (_, layer) => ["w_k", "w_v"].map((w) =>
      memory.map((x) => linear(...this.part(`decoder.layers.${layer}.cross_attention.${w}`), x))));
  }

  read(ids) {
    const parts = this.reading(ids);
    let part;
    do part = parts.next(); while (!part.done);
    return part.value;
  }

  // One token more. `past` holds the keys and values of the tokens before it, layer by layer: they do not change.
  step(token, source, past = source.map(() => [[], []])) {
    const heads = this.config.n_heads, cross = [];
    let x = this.embed(token, past[0][0].length);
    const now = past.map(([keys, values], layer) => {
      const name = `decoder.layers.${layer}`;
      const project = (part, y) => linear(...this.part(`${name}.${part}`), y);
      let y = this.norm(`${name}.residuals.0.norm`, x);
      keys = [...keys, project("self_attention.w_k", y)];
      values = [...values, project("self_attention.w_v", y)];
      const own = attend(project("self_attention.w_q", y), keys, values, heads);
      x = add(x, project("self_attention.w_o", own.mixed));
      y = this.norm(`${name}.residuals.1.norm`, x);
      const looked = attend(project("cross_attention.w_q", y), ...source[layer], heads);
      x = add(x, project("cross_attention.w_o", looked.mixed));
      x = add(x, this.feedForward(`${name}.feed_forward`, this.norm(`${name}.residuals.2.norm`, x)));
      cross.push(looked.weights);
      return [keys, values];
    });
    const scores = linear(this.tensors["src_embedding.tokens.weight"], null, this.norm("decoder.norm", x));
    return { logits: scores.subarray(0, this.config.vocab_size), past: now, cross };
  }

  // --- search

  logProbs(logits) {
    const found = logSoftmax(logits);
    found[PAD] = found[BOS] = -Infinity; // never written
    return found;
  }

  longest(source) {
    return 2 * source[0][0].length + 20; // a young model may never write the end itself
  }

  // Step by step: the token that `choose` takes (the likeliest, without it), its log-probability, who looked where.
  *write(source, choose = (logProbs) => logProbs.indexOf(logProbs.reduce((one, other) => Math.max(one, other)))) {
    let token = BOS, past;
    for (let length = 0; length < this.longest(source) && token !== EOS; length++) {
      const made = this.step(token, source, past), logProbs = this.logProbs(made.logits);
      past = made.past;
      token = choose(logProbs, length);
      yield { token, logProb: logProbs[token], logits: made.logits, cross: made.cross };
    }
  }

  // The `size` best beginnings go on; those that end leave for a pool, best first. Scores are log-probability by length.
  *beam(source, size) {
    const score = ({ tokens, logProb }) => logProb / tokens.length;
    const order = (one, other) => other.logProb - one.logProb;
    let open = [{ tokens: [], logProb: 0 }], pool = [];
    for (let length = 1; length <= this.longest(source); length++) {
      const longer = open.flatMap(({ tokens, logProb, past }) => {
        const made = this.step(tokens.at(-1) ?? BOS, source, past), logProbs = this.logProbs(made.logits);
        const best = [...logProbs.keys()].sort((one, other) => logProbs[other] - logProbs[one]).slice(0, 2 * size);
        return best.map((token) => ({ tokens: [...tokens, token], logProb: logProb + logProbs[token], past: made.past }));
      }).sort(order).slice(0, 2 * size);
      pool.push(...longer.slice(0, size).filter(({ tokens }) => tokens.at(-1) === EOS));
      pool = pool.sort((one, other) => score(other) - score(one)).slice(0, size);
      open = longer.filter(({ tokens }) => tokens.at(-1) !== EOS).slice(0, size);
      yield { open, pool };
      if (pool.length === size && score(open[0]) <= score(pool.at(-1))) return;
    }
  }
}

globalThis.CourseTranslator = CourseTranslator;
