"""Corpus BLEU, counted on words between spaces: the same score from every contender."""

from collections.abc import Callable, Iterator

from benchmarks.text import Language
from benchmarks.timing import Settings, Work, agree, gather, seconds
from course_lib.bleu import corpus_bleu

COURSE, SACREBLEU = "course", "sacrebleu"
ABOUT = "{n} made-up sentences of 8 to 40 words with one reference each; every contender gives BLEU {score:.4f}."

Score = Callable[[], float]


def works(settings: Settings) -> Iterator[Work]:
    """One corpus."""
    n = 20 if settings.quick else 10_000
    hypotheses, references = Language(n_words=500 if settings.quick else 20_000).translations(n)
    contenders, left_out = gather(
        {
            COURSE: lambda: lambda: corpus_bleu(hypotheses, references, tokenize="none").score,
            SACREBLEU: lambda: sacrebleu(hypotheses, references),
            "nltk": lambda: nltk(hypotheses, references),
        }
    )
    score = contenders[COURSE]()
    agree("BLEU", {name: call() for name, call in contenders.items()}, score, tolerance=1e-9)
    yield Work(
        "corpus BLEU",
        ABOUT.format(n=n, score=score),
        {name: seconds(call, settings) for name, call in contenders.items()},
        ours=(COURSE,),
        left_out=left_out,
        amount=n,
        things="sentences",
        aims={(COURSE, SACREBLEU): 3.0},
    )


def sacrebleu(hypotheses: list[str], references: list[str]) -> Score:
    """The scorer of the field, told to leave the text as it is."""
    from sacrebleu import corpus_bleu

    return lambda: corpus_bleu(hypotheses, [references], tokenize="none", force=True).score


def nltk(hypotheses: list[str], references: list[str]) -> Score:
    """The one most tutorials use; it takes words."""
    from nltk.translate.bleu_score import corpus_bleu

    return lambda: 100 * corpus_bleu([[text.split()] for text in references], [text.split() for text in hypotheses])
