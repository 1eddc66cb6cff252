"""BLEU and chrF: by hand, the fast counts against the plain ones, and against sacrebleu on thousands of cases."""

import inspect
import math
import random
import re

import generated
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from course_lib.bleu import (
    BleuStatistics,
    bleu_score,
    bleu_statistics,
    brevity_penalty,
    closest_length,
    corpus_bleu,
    modified_precision,
    sentence_bleu,
)
from course_lib.bleu.chrf import corpus_chrf, sentence_chrf
from course_lib.bleu.significance import (
    PairedBootstrap,
    paired_bootstrap,
    paired_randomization,
    scores_of_sums,
    sentence_counts,
)
from course_lib.bleu.tokenizers import tokenize_13a

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=9)
PUNCTUATED = st.text(st.sampled_from("ab1 ,.-'&;\"()<>/\n\t quot&amp;ltskipped>éß。한"), max_size=40)


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_clipping_takes_the_largest_count_of_one_reference():
    hypothesis, references = ["the", "the", "the", "the"], [["the", "a", "the"], ["the"], ["the", "b"]]
    assert modified_precision(hypothesis, references, 1) == (2, 4)  # not 1 (smallest), 4 (sum) or 1 (last)


@pytest.mark.parametrize(
    ("length", "lengths", "closest"), [(10, [9, 11], 9), (10, [11, 9], 9), (4, [1, 6], 6), (3, [7], 7)]
)
def test_closest_length_and_ties(length, lengths, closest):
    assert closest_length(length, lengths) == closest


def test_brevity_penalty_never_rewards():
    assert brevity_penalty(6, 12) == pytest.approx(0.36787944117144233)
    assert brevity_penalty(12, 6) == 1.0
    assert brevity_penalty(0, 3) == 0.0
    assert brevity_penalty(0, 0) == 1.0


def test_a_score_by_hand():
    """Matches 4 of 5, 3 of 5, 2 of 5, 3 of 10 with half the length: exp(-1) times the fourth root of the product."""
    statistics = BleuStatistics((4, 3, 2, 3), (5, 5, 5, 10), hyp_len=6, ref_len=12)
    assert bleu_score(statistics).score == pytest.approx(36.787944117144233 * (0.8 * 0.6 * 0.4 * 0.3) ** 0.25)


def test_the_same_sentence_is_100_and_no_common_word_is_0():
    assert corpus_bleu(["a b c d e"], ["a b c d e"]).score == pytest.approx(100)
    assert corpus_bleu(["a b c d e"], ["f g h i j"]).score == 0


def test_a_corpus_is_not_the_mean_of_its_sentences():
    hypotheses, references = ["a b c d e f g h", "x y z w"], ["a b c d e f g h", "k l m n"]
    mean = sum(corpus_bleu([h], [r]).score for h, r in zip(hypotheses, references, strict=True)) / 2
    assert mean == pytest.approx(50)
    pooled = (8 / 12 * 7 / 10 * 6 / 8 * 5 / 6) ** 0.25
    assert corpus_bleu(hypotheses, references).score == pytest.approx(100 * pooled)


def test_a_short_sentence_has_no_4_gram():
    assert corpus_bleu(["This is cat"], ["This is cat"]).score == 0
    assert sentence_bleu("This is cat", "This is cat").score == pytest.approx(100)


def test_statistics_add_up():
    one = bleu_statistics([["a", "b"]], [[["a", "b", "c"]]])
    two = bleu_statistics([["c"], []], [[["c"]], [["d"]]])
    assert one + two == bleu_statistics([["a", "b"], ["c"], []], [[["a", "b", "c"]], [["c"]], [["d"]]])
    assert one + two == BleuStatistics((3, 1, 0, 0), (3, 1, 0, 0), 3, 5)
    assert bleu_statistics([], []) == BleuStatistics()


def test_a_score_says_how_it_was_counted():
    score = corpus_bleu(["A b c d e", "x"], ["a b c d", ["y"]], tokenize="none", smoothing="floor", smooth_value=0.2)
    assert str(score).startswith(f"BLEU = {score.score:.2f} 50.0/50.0/33.3/10.0 (BP = 1.000 hyp_len = 6 ref_len = 5)")
    assert score.signature.startswith("nrefs:1|case:mixed|eff:no|tok:none|smooth:floor[0.20]|version:course_lib-")
    several = corpus_bleu(["a", "b"], ["a", ["b", "c"]], lowercase=True)
    assert several.signature.startswith("nrefs:var|case:lc|eff:no|tok:13a|smooth:exp|version:course_lib-")


@pytest.mark.parametrize("score", [corpus_bleu, corpus_chrf, sentence_counts])
@pytest.mark.parametrize("odd", [None, 5, ["the", "cat"]])
def test_what_is_no_text_is_refused(score, odd, unchecked):
    for hypotheses, references in (([odd], ["the cat"]), (["the cat"], [[odd]])):
        with pytest.raises(TypeError, match=re.escape(f"expected texts, got {odd!r} among them: join its words")):
            score(hypotheses, references)


def test_refusals():
    with pytest.raises(ValueError, match="expected references for each of the 2 hypotheses, got 1: references"):
        corpus_bleu(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="expected at least one reference for every hypothesis, got none for one"):
        corpus_chrf(["a"], [[]])
    with pytest.raises(ValueError, match="expected smoothing none, floor, add-k, exp, got 'plus': sacrebleu's default"):
        corpus_bleu(["a"], ["a"], smoothing="plus")
    for value in (math.nan, math.inf, -1.0):
        with pytest.raises(ValueError, match=f"expected smooth_value to be 0 or more, got {value}: it counts matches"):
            corpus_bleu(["a b"], ["a c"], smoothing="floor", smooth_value=value)
    for beta in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match=f"expected beta from 0 to 1000000000, got {beta}: choose another"):
            corpus_chrf(["a b"], ["a c"], beta=beta)
    for orders in ((0, 0), (-1, 2), (6, -1)):
        with pytest.raises(ValueError, match=f"got char_order {orders[0]}, word_order {orders[1]}: raise one"):
            corpus_chrf(["a b"], ["a c"], *orders)
    with pytest.raises(ValueError, match="expected tokenize 13a, none, char, got 'intl': sacrebleu's default is '13a'"):
        corpus_bleu(["a"], ["a"], tokenize="intl")


# --- the fast counts are the plain counts ----------------------------------------------------------------------------


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_fast_counts_are_the_modified_precisions(hypothesis, references):
    statistics = bleu_statistics([hypothesis], [references])
    plain = [modified_precision(hypothesis, references, n) for n in (1, 2, 3, 4)]
    assert list(zip(statistics.matches, statistics.totals, strict=True)) == plain
    assert statistics.ref_len == closest_length(len(hypothesis), [len(reference) for reference in references])


# --- equal to sacrebleu ----------------------------------------------------------------------------------------------


def damaged(text, draw):
    """A translation with mistakes: words dropped, doubled, exchanged, swapped, or nothing at all."""
    words = []
    for word in text.split(" "):
        kind = draw.random()
        if kind < 0.1:
            continue
        words.append(draw.choice(["the", "a", "Hajun", "book,", "1,000.5", "(yes)", "it's"]) if kind < 0.2 else word)
        if kind > 0.9:
            words.append(word)
        if 0.8 < kind < 0.9 and len(words) > 1:
            words[-1], words[-2] = words[-2], words[-1]
    return " ".join(words if draw.random() > 0.02 else [])


@pytest.fixture(scope="module")
def cases():
    """10,000 hypotheses, each with 1 to 3 references: course sentences and random words, with punctuation."""
    draw = random.Random(0)
    texts = [
        pair.tgt_text + draw.choice([".", "!", ".\n", " .", ", and 3.5-4.", ""]) for pair in generated.course()["train"]
    ]
    found = []
    for _ in range(10_000):
        if draw.random() < 0.5:
            first = draw.choice(texts)
            references = [first] + [damaged(first, draw) for _ in range(draw.choice([0, 0, 1, 2]))]
            found.append((damaged(first, draw), references))
        else:
            lines = [
                " ".join(draw.choices(["a", "b", "c", "d", "E.", "f,", "g-1"], k=draw.randint(0, 9))) for _ in range(4)
            ]
            found.append((lines[0], lines[1 : draw.randint(2, 4)]))
    return found


SETTINGS = [
    {"smoothing": "exp", "tokenize": "13a"},
    {"smoothing": "floor", "tokenize": "none"},
    {"smoothing": "floor", "smooth_value": 0.37, "tokenize": "13a", "lowercase": True},
    {"smoothing": "add-k", "tokenize": "char"},
    {"smoothing": "add-k", "smooth_value": 0.5, "tokenize": "13a"},
    {"smoothing": "none", "tokenize": "none"},
]


def theirs(setting, **more):
    names = {"smoothing": "smooth_method"}
    return BLEU(**{names.get(key, key): value for key, value in {**setting, **more}.items()}, force=True)


def test_sentence_bleu_equals_sacrebleu_on_every_case(cases):
    metrics = [theirs(setting, effective_order=effective) for setting in SETTINGS for effective in (True, False)]
    for i, (hypothesis, references) in enumerate(cases):
        setting, metric = SETTINGS[i // 2 % len(SETTINGS)], metrics[i % len(metrics)]
        expected = metric.sentence_score(hypothesis, references)
        score = sentence_bleu(hypothesis, references, **setting, effective_order=metric.effective_order)
        assert score.score == pytest.approx(expected.score, abs=1e-9), (hypothesis, references, setting)
        assert score.precisions == pytest.approx(expected.precisions, abs=1e-9)
        assert score.brevity_penalty == pytest.approx(expected.bp, abs=1e-9)
        assert (score.statistics.hyp_len, score.statistics.ref_len) == (expected.sys_len, expected.ref_len)


@pytest.mark.parametrize("setting", SETTINGS)
def test_corpus_bleu_equals_sacrebleu(cases, setting):
    metric = theirs(setting)
    for start in range(0, 2000, 80):
        part = cases[start : start + 80]
        hypotheses, references = [h for h, _ in part], [r for _, r in part]
        most = max(map(len, references))
        streams = [[r[k] if k < len(r) else None for r in references] for k in range(most)]
        expected = metric.corpus_score(hypotheses, streams)
        score = corpus_bleu(hypotheses, references, **setting)
        assert score.score == pytest.approx(expected.score, abs=1e-9)
        assert str(score).split("(")[0] == str(expected).split("(")[0]
    counted = [str(text).split("|version")[0].split("|")[1:] for text in (score.signature, metric.get_signature())]
    assert counted[0] == counted[1]  # the first part, nrefs, is of these sentences


@pytest.mark.parametrize(("char_order", "word_order", "beta"), [(6, 0, 2), (6, 2, 2), (4, 1, 3), (2, 0, 1)])
def test_chrf_equals_sacrebleu(cases, char_order, word_order, beta):
    metric = CHRF(char_order=char_order, word_order=word_order, beta=beta)
    settings_ = {"char_order": char_order, "word_order": word_order, "beta": beta}
    for hypothesis, references in cases[:2500:3]:
        expected = metric.sentence_score(hypothesis, references).score
        assert sentence_chrf(hypothesis, references, **settings_) == pytest.approx(expected, abs=1e-9)
    for start in range(0, 600, 60):
        part = [case for case in cases[start : start + 60] if len(case[1]) > 1]
        expected = metric.corpus_score([h for h, _ in part], [[r[k] for _, r in part] for k in (0, 1)]).score
        assert corpus_chrf([h for h, _ in part], [r[:2] for _, r in part], **settings_) == pytest.approx(
            expected, abs=1e-9
        )


@given(PUNCTUATED | st.text(max_size=30))
@settings(max_examples=500)
def test_13a_is_the_tokenizer_of_sacrebleu(text):
    assert tokenize_13a(text) == Tokenizer13a()(text.rstrip()).split()


@given(st.lists(st.tuples(PUNCTUATED, st.lists(PUNCTUATED, min_size=1, max_size=3)), min_size=1, max_size=3))
def test_any_text_has_a_score(cases_):
    hypotheses, references = [h for h, _ in cases_], [r for _, r in cases_]
    assert 0 <= corpus_bleu(hypotheses, references).score <= 100 + 1e-9
    assert 0 <= corpus_chrf(hypotheses, references, word_order=2) <= 100 + 1e-9


# --- is a difference real? -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def systems():
    """Three translators of 60 sentences: better and better ones."""
    draw = random.Random(1)
    references = [pair.tgt_text for pair in generated.course()["test"][:60]]

    def written(often):
        return [damaged(text, draw) if draw.random() < often else text for text in references]

    return references, [written(often) for often in (0.9, 0.7, 0.3)]


def test_counts_of_sentences_add_up_to_those_of_the_corpus(systems):
    references, (hypotheses, *_) = systems
    several = [[text, text.replace("the", "a")] for text in references]
    for gold in (references, several):
        sums = sentence_counts(hypotheses, gold).sum(0)
        score = corpus_bleu(hypotheses, gold)
        assert sums.tolist() == [
            *score.statistics.matches,
            *score.statistics.totals,
            score.statistics.hyp_len,
            score.statistics.ref_len,
        ]
        assert scores_of_sums(sums[None]) == pytest.approx([score.score], abs=1e-12)


@pytest.mark.parametrize("tokenize", ["13a", "none"])
def test_paired_bootstrap_is_that_of_sacrebleu(systems, tokenize):
    references, texts = systems
    metric = {"BLEU": BLEU(tokenize=tokenize, force=True)}
    named = list(zip("abc", texts, strict=True))
    _signature, theirs = PairedTest(named, metric, [references], test_type="bs", n_samples=300)()
    first, *others = (sentence_counts(one, references, tokenize) for one in texts)
    for counts, result in zip(others, theirs["BLEU"][1:], strict=True):
        found = paired_bootstrap(first, counts, n_resamples=300)
        assert found.p_sacrebleu == pytest.approx(result.p_value, abs=1e-12)
        assert found.difference == pytest.approx(result.score - theirs["BLEU"][0].score, abs=1e-9)


def test_paired_bootstrap_draws_the_same_sentences_as_sacrebleu(systems):
    """Given the indices, each resampled score is sacrebleu's."""
    references, (first, second, _) = systems
    found = paired_bootstrap(*(sentence_counts(one, references) for one in (first, second)), n_resamples=40, seed=7)
    drawn = np.random.default_rng(7).choice(60, size=(40, 60), replace=True)
    for rows, difference in zip(drawn, found.differences, strict=True):
        one, other = (
            BLEU().corpus_score([texts[i] for i in rows], [[references[i] for i in rows]]).score
            for texts in (first, second)
        )
        assert difference == pytest.approx(other - one, abs=1e-9)


def test_randomization_is_that_of_sacrebleu(systems):
    references, texts = systems
    named = list(zip("abc", texts, strict=True))
    _signature, theirs = PairedTest(named, {"BLEU": BLEU()}, [references], test_type="ar", n_samples=400)()
    first, *others = (sentence_counts(one, references) for one in texts)
    for counts, result in zip(others, theirs["BLEU"][1:], strict=True):
        assert paired_randomization(first, counts, n_shuffles=400) == pytest.approx(result.p_value, abs=1e-12)


def test_a_translator_does_not_differ_from_itself(systems):
    """sacrebleu leaves out ties, so that its p is as small as it can be."""
    references, (first, *_) = systems
    counts = sentence_counts(first, references)
    found = paired_bootstrap(counts, counts, n_resamples=50)
    assert found.difference == 0
    assert (found.p_value, found.p_sacrebleu) == (1.0, pytest.approx(1 / 51))
    assert paired_randomization(counts, counts, n_shuffles=50) == 1.0


def test_one_sentence_that_differs_is_no_evidence(systems):
    references, (first, *_) = systems
    changed = [f"{first[0]} again", *first[1:]]
    counts = [sentence_counts(texts, references) for texts in (first, changed)]
    assert paired_randomization(*counts, n_shuffles=100) == 1.0


def test_the_interval_holds_the_middle_of_the_differences():
    found = PairedBootstrap(1.0, np.arange(1001.0))
    assert found.interval == (25.0, 975.0)
    assert found.p_value == pytest.approx(1001 / 1002)  # the middle one alone is nearer than 1 to the mean
    assert PairedBootstrap(2.0, np.array([1.0, 2.0, 3.0])).p_value == 0.25
    assert PairedBootstrap(-1.0, np.array([-1.0, -2.0, 0.0])).p_value == 0.75


def test_the_bootstrap_is_not_fooled_as_often_as_sacrebleu_s():
    """Equally good translators: p < .05 in about one of twenty cases, and twice as often by sacrebleu's p."""
    draw, called = np.random.default_rng(0), np.zeros(2)
    for trial in range(120):
        rows = draw.integers(3, 6, size=(2, 80, 1)) - np.arange(4)  # words, pairs, … that match
        counts = [np.hstack([matches, np.full((80, 4), [6, 5, 4, 3]), np.full((80, 2), 6)]) for matches in rows]
        found = paired_bootstrap(*counts, n_resamples=200, seed=trial)
        called += found.p_value < 0.05, found.p_sacrebleu < 0.05
    assert called[0] <= 13
    assert called[1] >= 1.4 * called[0]


def test_counts_of_other_sentences_are_refused():
    with pytest.raises(ValueError, match="expected counts of the same sentences, got 3 and 2 rows: score both"):
        paired_bootstrap(np.zeros((3, 10), int), np.zeros((2, 10), int))
    with pytest.raises(ValueError, match="expected counts of the same sentences, got 3 and 2 rows: score both"):
        paired_randomization(np.zeros((3, 10), int), np.zeros((2, 10), int))


@pytest.mark.parametrize("score", [corpus_bleu, corpus_chrf, sentence_counts])
def test_one_text_in_place_of_a_list_is_refused(score):
    for texts in (("the cat", "the cat"), ("the", ["t", "h", "e"]), (["t", "h", "e"], "the")):
        words = r"expected lists of hypotheses and references, got one text: write \[text\]"
        with pytest.raises(TypeError, match=words):
            inspect.unwrap(score)(*texts)
