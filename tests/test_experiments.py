"""Every experiment reaches its end, with sizes so small that it measures nothing, and stores what chapters read."""

import json
import sys
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

import experiments
from course_lib.bpe.byte_level import DigitBPE
from course_lib.corpus import Corpus, course_corpus
from course_lib.language_model import LanguageModel, LanguageModelConfig
from course_lib.stored import results
from course_lib.training.bench import train_once
from experiments.batching_order import new_model
from experiments.real_model_slips import PAGE
from tools.environment import ROOT

SCRIPTS = sorted(path.stem for path in (ROOT / "experiments").glob("*.py") if path.stem != "__init__")
SMALL = {
    "SEEDS": [0],
    "STEPS": 2,
    "UPDATES": 2,
    "EVERY": 1,
    "SECONDS": 0,
    "RUNS": 1,
    "TRIALS": 2,
    "HELD_OUT": 30,
    "SENTENCES": 4,
}


whole_corpus = cache(course_corpus)


def small_corpus(seed=0, n_train=0, size=20):
    corpus = whole_corpus(seed, 600)
    return Corpus("course", "ko", "en", {s: corpus[s] if s == "train" else corpus[s][:size] for s in corpus.splits})


def small_bench():
    pairs = [([4 + n % 5, 9], [10, 11 + n % 3]) for n in range(20)]
    return pairs, pairs, 14


def shortly(recipe, seed, every=1):
    return train_once(recipe, seed, updates=2, every=1)


def small_real_model():
    """In the place of the model that `make weights` fetches: random weights, and the words that the scripts ask for."""
    texts = [PAGE, *["The capital of France is Paris", "The capital of Italy is Rome"] * 9]
    tokenizer = DigitBPE.train(texts, n_merges=400, specials={"<|im_start|>": 0, "<|im_end|>": 1})
    config = LanguageModelConfig(tokenizer.vocab_size, 16, n_heads=4, n_kv_heads=2, d_ff=17, n_layers=2, scaled=False)
    return LanguageModel(replace(config, pad_id=-1)).eval(), tokenizer


def small_reference():
    """In the place of the library's model: it answers as the course's does."""
    model, _ = small_real_model()
    return lambda ids, use_cache: SimpleNamespace(logits=model(ids))


def small_words():
    _, tokenizer = small_real_model()
    return SimpleNamespace(encode=lambda text, add_special_tokens: tokenizer.encode(text))


# Sizes of its own, by an experiment's name: constants of the module, or (in small letters) arguments of its `main`.
SIZES = {
    "attention_memory": {"LENGTHS": [8, 16]},
    "attention_scaling": {"WIDTHS": [4], "FREE_SEEDS": [0], "FREE_STEPS": 2, "LEARNED_SEEDS": [0], "LEARNED_STEPS": 2},
    "attention_view_differ": {"sentences": 4, "DRAWS": 1},
    "attention_view_heads": {"updates": 1, "seeds": (0, 1), "sentences": 2, "TAGS": ("because",)},
    "batching_order": {"SEEDS": [0, 1], "FEWER": [0], "RATES": [0.01], "PAIRS": 32, "UPDATES": 2, "SAME_TIME": 3},
    "batching_pads": {"RATES": [0.01], "HIGHER": [0.02]},
    "batching_time": {"REPEATS": 1, "PROVED": 8, "data": small_bench, "trained": lambda *_plan: new_model(14)},
    "beam_search_cache": {"PLANS": [("small", 1), ("large", 2)], "LENGTHS": [2, 3], "REPEATS": 1},
    "beam_search_width": {"N_TRAIN": 60, "N_TEST": 10, "MAX_CALLS": 30, "MAX_LEN": 2, "JUDGED": 2},
    "bleu_null": {"PAIRS": [(5, 6)], "course_corpus": partial(small_corpus, size=None)},
    "bleu_seeds": {"SEEDS": [0, 1], "SET_ASIDE": 5, "SIZES": [5, 8]},
    "bpe_units": {"SEEDS": [0, 1], "RATES": [0.01], "LONG": 1, "MAX_LEN": 2},
    "cost_crossover": {"LENGTHS": {128: [8], 512: [8]}, "LONG": 64},
    "cost_precision": {"RATES": [0.01], "CHECK": 5, "WIDTH": 8},
    "cost_recurrent": {"PLANS": [(8, 2, 4)]},
    "cost_steps": {"WIDTHS": [8], "AT_ONCE": 1, "LENGTHS": [2]},
    "decoder_memory": {"UPDATES": 4, "RANDOM_UPDATES": 1},
    "decoder_question": {"SUMS": 2},
    "encoder_masked": {"N_TRAIN": 60, "RATES": [0.01], "UPDATES": 2},
    "encoder_parts": {"RATES": [0.01], "CHOOSING": [0], "SEEDS": [1], "UPDATES": 2, "SIZES": [(3, 2, 4)]},
    "image_attention_boards": {"SOME": [0], "MANY": [0], "POOLED": 1, "READ": 1, "BOARDS": 20},
    "layer_norm_depth": {"RATES": [0.004], "FIRST": [0.004], "CHOOSING": [0], "SEEDS": [1]},
    "masks_writes": {"RATES": [0.01], "CHOOSING": [100], "SUBJECTS": 3, "LONGEST": 4},
    "modern_own_text": {"MINUTES": [0.01], "BEGINNINGS": ["a"]},
    "modern_parts": {"UPDATES": [1, 2], "RATES": {1: [0.01], 2: [0.01]}, "ROUNDS": 1},
    "modern_place": {"UPDATES": [1], "LONG": 64, "RANGES": {"0–63": slice(64)}},
    "modern_rates": {"ARMS": [("all four", 1), ("RoPE", 2)]},
    "multi_head_cost": {"SEQ_LEN": 8},
    "multi_head_sentences": {"course_corpus": partial(small_corpus, size=None)},
    "page_translator": {"updates": 1, "N_TRAIN": 60, "N_VAL": 5, "N_PLAIN": 5, "N_TEST": 5},
    "positional_encoding_length": {"STEPS": 1, "LONGER": 1, "CAUSAL": 1},
    "positional_encoding_scale": {"TASKS": {"two back": (10, 10, 1), "again": (24, 2, 1)}},
    "real_model_equality": {
        **{"read": small_real_model, "model_of": small_reference, "tokenizer_of": small_words},
        **{"PIECES": 3, "PAIRS": 2, "NOISE": 2},
    },
    "real_model_frames": {"read": small_real_model, "LONGEST": 2},
    "real_model_inside": {
        "read": small_real_model,
        **{
            "FIRST": 2,
            "COPY": 3,
            "BEST": 2,
            "DRAWS": 1,
            "LAYERS": [1],
            "CAPITALS": {"France": "Paris", "Italy": "Rome"},
        },
    },
    "real_model_slips": {"read": small_real_model},
    "self_attention_cost": {"SIZES": [(2, 4)]},
    "seq2seq_choosing": {"LONG": 2},
    "seq2seq_lengths": {"SEQUENCES": 4},
    "seq2seq_probe": {"N_TRAIN": 30, "N_TEST": 10},
    "training_limits": {"REPORTED": {"post": [0], "long": [0]}},
    "training_recipes": {"CHOOSING": [0], "FEW": [0], "FRESH": [0], "SPOILED": 1, "train_once": shortly},
    "training_warmup": {"FRESH": [0], "train_once": shortly},
    "translation_depth": {"UPDATES": {"Transformer": 1, "GRU": 1}, "MORE_UPDATES": 1, "OLD": 10, "NEW": 5},
    "translation_own": {"UPDATES": 1, "LONGEST": 2},
    "translation_time": {"TOKENS": 8, "LENGTHS": [2, 4], "RUNS": 1},
    "translation_written": {"UPDATES": [1], "LONGEST": 2, "SHOWN": 2},
    "translator": {"updates": 1, "sentences": 2},
}
# Plans whose rows have sizes of their own, and what they become.
PLANS = {
    "image_attention_boards": dict.fromkeys(["plan", "plan_without_hint"], lambda plan: once(plan, steps=1)),
    "layer_norm_depth": {"plan": lambda plan: once(plan, steps=1)},
    "multi_head_sentences": {
        "EXAMPLES": lambda _: [(next(p.tgt_text for p in small_corpus()["train"] if len(p.tgt) == 8), 1)]
    },
    "seq2seq_lengths": {"plan": lambda plan: once(plan, updates=1)},
    "training_recipes": {
        "SPOILS": lambda plan: {name: replace(r, spoiled=r.spoiled and 1) for name, r in plan.items()}
    },
    "translation_own": {"ARMS": lambda plan: [(name, seed) for name, seed in plan if seed == 0]},
}


def once(plan, **sizes):
    return lambda: [row | sizes for row in plan()]


def no_pool(*_workers, **_named):
    """In the place of a pool of processes: the same work in this one."""
    return nullcontext(SimpleNamespace(map=lambda work, *rows: list(map(work, *rows))))


def kept_in(folder, store):
    """`store` or `store_model`, which writes there, whatever folder it is told."""
    return lambda *given, **named: store(*[x for x in given if not isinstance(x, Path)], **named | {"folder": folder})


def places(found, way=""):
    """Where the numbers of a result stand."""
    if isinstance(found, dict):
        return {place for key, value in found.items() for place in places(value, f"{way}.{key}")}
    return {place for value in found for place in places(value, f"{way}[]")} if isinstance(found, list) else {way}


# Left out: the model of `translation_real` has the sizes of the command `train`, where one update and BLEU take long.
@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "translation_real"])
def test_an_experiment_reaches_its_end(name, monkeypatch, tmp_path, unchecked):
    """What it would store stands where it stands in the stored file. (Slips have shapes of their own.)"""
    script, sizes = import_module(f"experiments.{name}"), SIZES.get(name, {})
    for key, size in (SIZES["beam_search_width"] | {"UPDATES": 2}).items():  # `beam_search_model` trains on its bench
        monkeypatch.setattr(f"experiments.beam_search_width.{key}", size)
    monkeypatch.setattr("course_lib.training.bench.bench_pairs", small_bench)
    for path, module in [*sys.modules.items()]:  # a script may read the corpus through another one
        if path.startswith("experiments.") and hasattr(module, "course_corpus"):
            monkeypatch.setattr(module, "course_corpus", small_corpus)
    ours = {"ProcessPoolExecutor": no_pool, "Pool": no_pool, "bench_pairs": small_bench} | SMALL | sizes
    ours |= {kind: kept_in(tmp_path, getattr(experiments, kind)) for kind in ("store", "store_model")}
    ours |= {key: change(getattr(script, key)) for key, change in PLANS.get(name, {}).items()}
    for key in [key for key in ours if hasattr(script, key)]:
        monkeypatch.setattr(script, key, ours[key])
    script.main(**{key: value for key, value in sizes.items() if not hasattr(script, key)})
    made, stored = json.loads((tmp_path / f"{name}.json").read_text("utf-8")), results(name)
    assert made.keys() == stored.keys()
    assert places(made) <= places(stored)
