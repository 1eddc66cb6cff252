"""The front page's translator, Korean to English: the course's model, trained longer, on what people type.

    python -m experiments.page_translator

Sizes and settings are those of `experiments.translator`, but it has UPDATES updates instead of 1,500, on sentences of
`course_lib.corpus.typed`: the course's kinds, and plain ones in the endings and orders that people use.
Kept are the Korean words that it was trained on, and the shares of sentences that greedy search translates exactly
after the rounding, none of which it was trained on: 1,000 of its own kinds, the course's test, plain sentences, and
those of tests/fixtures/typed.tsv, which were written from the list of words before the training was planned. As a
command it keeps checkpoints in `runs/page_translator`: a run that was stopped goes on.

The stored weights are those of such a run: it was begun for 12,000 updates, stopped after 3,723, and went on for 9,000,
so that its first rates were a little higher than those of a run of 9,000 from the start.
"""

from pathlib import Path

from course_lib.batching import Batches, IdPair, make_batch
from course_lib.bpe import BPE
from course_lib.corpus import Sentence, course_corpus
from course_lib.corpus.typed import Typed, front_coded, page_test, typed_sentences
from course_lib.fast import fast_loss
from course_lib.fast.memory import keep_freed_memory
from course_lib.reproducible import make_reproducible
from course_lib.stored import FOLDER, model
from course_lib.training.trainer import Trainer
from course_lib.translation import Translator, exact_match
from experiments import store_model
from experiments.translator import RECIPE, new_transformer, settings

SEED, UPDATES = 0, 9000
N_TRAIN, N_VAL, N_TEST, N_PLAIN = 240_000, 500, 1000, 500
CHECKPOINTS = Path("runs/page_translator")
TYPED = Path(__file__).parents[1] / "tests" / "fixtures" / "typed.tsv"


def typed_by_hand(part: str = "test") -> list[Sentence]:
    """The sentences of one part of the file, "tried" or "test"; several references are readings."""
    rows = [line.split("\t") for line in TYPED.read_text(encoding="utf-8").splitlines()]
    return [
        Sentence(
            tuple(src.split(" ")),
            tuple(tgts[0].split(" ")),
            readings=tuple((1 / len(tgts), tuple(tgt.split(" "))) for tgt in tgts),
        )
        for name, src, *tgts in rows
        if name == part
    ]


def as_sentences(typed: list[Typed]) -> list[Sentence]:
    return [Sentence(tuple(pair.src_text.split(" ")), tuple(pair.tgt_text.split(" "))) for pair in typed]


def judges() -> dict[str, list[Sentence]]:
    """What the model is judged by."""
    plain = typed_sentences("page plain", N_PLAIN, set(), kind="plain")
    course = course_corpus(n_train=1)["test"]
    return {
        "test": as_sentences(page_test(N_TEST)),
        "course": course,
        "plain": as_sentences(plain),
        "typed": typed_by_hand(),
    }


def words_met(train: list[Typed]) -> set[str]:
    """The Korean words of the training, without the names that were made up for it."""
    return {word for pair in train for word in pair.src_text.split(" ") if not word.startswith(pair.made_up)}


def encoded(typed: list[Typed], vocabulary: BPE) -> list[IdPair]:
    src = vocabulary.encode_batch(pair.src_text for pair in typed)
    return list(zip(src, vocabulary.encode_batch(pair.tgt_text for pair in typed), strict=True))


def main(updates: int = UPDATES, folder: Path = FOLDER, checkpoints: Path | None = None) -> None:
    make_reproducible(SEED)
    keep_freed_memory()
    judging = judges()
    held_out = [*judging.values(), typed_by_hand("tried")]
    seen = {pair.src_text.rstrip(".") for pairs in held_out for pair in pairs}
    val, train = (typed_sentences(f"page {split}", n, seen) for split, n in (("val", N_VAL), ("train", N_TRAIN)))
    vocabulary = BPE.train([text for pair in train for text in (pair.src_text, pair.tgt_text)], RECIPE["merges"])
    characters = {character for pair in train for character in pair.src_text}
    translator = Translator(new_transformer(vocabulary), vocabulary, characters)
    batches = Batches(encoded(train, vocabulary), RECIPE["max_tokens"], SEED)
    judge = [make_batch(encoded(val, vocabulary))]
    done = Trainer(translator.model, batches, settings(updates, SEED), judge, checkpoints, fast_loss).run(print)
    if done.step < updates:
        return
    about = {"updates": updates, "words": front_coded(words_met(train))}
    store_model(__file__, translator, [SEED], folder, **about)
    rounded = model("page_translator") if folder == FOLDER else translator
    found = {}
    for split, pairs in judging.items():
        translations = rounded.translate([pair.src_text for pair in pairs], beam_size=1)
        found[split] = round(exact_match(translations, pairs), 4)
    store_model(__file__, translator, [SEED], folder, **about, exact_match=found)
    print(found)


if __name__ == "__main__":
    main(checkpoints=CHECKPOINTS)
