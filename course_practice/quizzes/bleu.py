"""Questions of chapter 16, BLEU."""

import math

from course_lib.bleu import brevity_penalty, modified_precision, sentence_bleu
from course_practice.quizzes.engine import Option, Question

TRUTH = "the old man sold a red bike yesterday"
WORDS = TRUTH.split()


def _with_error(place):
    """BLEU with one wrong word at a place, counted from 1."""
    return sentence_bleu(" ".join([*WORDS[: place - 1], "wrong", *WORDS[place:]]), TRUTH).score


def _fraction(n):
    found = modified_precision(["a", "a", "b", "a"], [["a", "b", "a"]], n)
    return "{} of {}".format(*found)


QUESTIONS = [
    Question(
        id="bleu.guess_cheat",
        text="The cheat writes only the translator's first word, again and again. Against how many of the eight "
        "translators does it find more of its words in the references?",
        guess=True,
        options=[
            Option("against all eight of them", True, "The first word is the easiest one, and it is often right."),
            Option("against none of them", False, "It would lose if the first word were as hard as the others."),
            Option(
                "against the weakest two or three of them only",
                False,
                "The weak ones have easy first words, too, and so do the strong ones.",
            ),
            Option("against about half of them", False, "The gap is larger than the differences between the seeds."),
        ],
    ),
    Question(
        id="bleu.guess_place",
        text="One word of eight is wrong. Where does it cost most?",
        guess=True,
        options=[
            Option(
                "in the middle",
                True,
                f"There it breaks ten n-grams, at an end four: {_with_error(4):.0f} against {_with_error(1):.0f}.",
            ),
            Option("at the beginning", False, "The first word belongs to one n-gram of each length: four in all."),
            Option("at the end", False, "The last word belongs to one n-gram of each length: four in all."),
            Option("anywhere, always the same", False, "For single words that is so, but not for longer runs."),
        ],
    ),
    Question(
        id="bleu.guess_delete",
        text="The last word of a hypothesis is wrong. What does deleting it do to its BLEU?",
        guess=True,
        options=[
            Option(
                "It rises.",
                True,
                "The four broken n-grams cost a little more than the brevity penalty for one missing word.",
            ),
            Option("It falls.", False, "The penalty falls, but all four precisions become 1."),
            Option("It stays the same.", False, "The two effects are close to each other, but not equal."),
            Option(
                "It depends on whether the sentence is short or long.",
                False,
                "Only the size of the gain depends on it at these three lengths.",
            ),
        ],
    ),
    Question(
        id="bleu.guess_draws",
        text="Seed 6 is ahead of seed 5 by 5.8 BLEU. In how many of 1,000 draws is it behind?",
        guess=True,
        options=[
            Option(
                "in about 30 of them",
                True,
                "The differences have a standard deviation of 3 around 6, so that 0 is two of them away.",
            ),
            Option("in none of them", False, "The differences vary by about 3 BLEU from draw to draw."),
            Option("in about 200 of them", False, "That would need a standard deviation of about 7."),
            Option("in nearly half of them", False, "Then the draws would know nothing of the difference."),
        ],
    ),
    Question(
        id="bleu.clip",
        text="The hypothesis is *a a b a*, and the only reference *a b a*. How many of the words match?",
        options=[
            Option(_fraction(1), True, "The reference has *a* twice, so two of three count, and *b* counts once."),
            Option("4 of 4", False, "All of them occur in the reference, but it has only two *a*."),
            Option("2 of 4", False, "That counts each different word once. The reference has *a* twice."),
            Option("3 of 3", False, "The precision divides by the words of the hypothesis, which are four."),
        ],
    ),
    Question(
        id="bleu.by_hand",
        text="A translation has half the length of its reference, and all its n-grams match. What is its BLEU?",
        options=[
            Option(
                f"{100 * brevity_penalty(4, 8):.1f}",
                True,
                "All precisions are 1, and the penalty is exp(1 − 2) = 1/e.",
            ),
            Option("50.0", False, "The penalty is not linear: half the length costs a factor of e."),
            Option("100.0", False, "All precisions are 1, but the brevity penalty is not."),
            Option(
                f"{100 * math.exp(-0.5):.1f}",
                False,
                "This is exp(1 − 1.5). The fraction in the exponent is 2.",
            ),
        ],
    ),
    Question(
        id="bleu.long",
        text="Why has BLEU no penalty for a translation that is too long?",
        options=[
            Option(
                "Its extra words lower the precisions.",
                True,
                "A precision divides by the length of the hypothesis, so that unmatched words cost already.",
            ),
            Option(
                "Translators hardly ever write too much, so it is not needed.",
                False,
                "They do: half-trained ones repeat themselves.",
            ),
            Option(
                "Its extra words may be correct, and a reference cannot contain all.",
                False,
                "BLEU cannot know this, and it counts them as unmatched.",
            ),
            Option(
                "It has one: the brevity penalty works in both directions.",
                False,
                "The brevity penalty is 1 from the length of the reference on.",
            ),
        ],
    ),
    Question(
        id="bleu.above_hundred",
        text="A scorer gives the references themselves a BLEU of 271.8. What is wrong with it?",
        options=[
            Option(
                "The logarithm is missing.",
                True,
                "exp of the mean of four precisions of 1 is e, and 100 e = 271.8.",
            ),
            Option("The brevity penalty is upside down.", False, "At equal lengths the penalty is 1 either way."),
            Option("The counts are not clipped.", False, "Then a precision could not be more than 1 either."),
            Option(
                "The precisions are in percent already and are multiplied by 100 once more.",
                False,
                "That would give 10,000.",
            ),
        ],
    ),
    Question(
        id="bleu.pooling",
        text="Two teams score the same output. One gets 55, and the other 42. Both say that they took BLEU without "
        "smoothing, on the same tokens. What explains this best?",
        options=[
            Option(
                "The second one took the mean of sentence scores.",
                True,
                "Without smoothing, a sentence without a matching 4-gram scores 0, and short ones often have none.",
            ),
            Option(
                "The second one had a test set in another order.",
                False,
                "Sums do not depend on the order of the sentences.",
            ),
            Option(
                "The first one was lucky with the resamples that were drawn.",
                False,
                "Resamples belong to the bootstrap. The score itself needs none.",
            ),
            Option(
                "The first one took more references for each sentence.",
                False,
                "That could raise a score, but the two of them score the same test.",
            ),
        ],
    ),
    Question(
        id="bleu.zero",
        text='`corpus_bleu(["This is cat"], ["This is cat"])` returns 0. Why?',
        options=[
            Option(
                "A text of three words has no 4-gram.",
                True,
                "The fourth precision is 0, and so is the product. Over a corpus the other sentences have 4-grams.",
            ),
            Option("One sentence is too few for a corpus.", False, "One longer sentence would score 100."),
            Option("The sentence is not correct English.", False, "BLEU knows no grammar."),
            Option(
                "The words are compared in lower case, and the reference begins with a capital.",
                False,
                "Both texts are treated alike, so that equal texts stay equal.",
            ),
        ],
    ),
    Question(
        id="bleu.tokens",
        text="A paper reports 31 BLEU. You measure 28 for your system with sacrebleu on the same test set. The paper "
        "does not say how its text was cut into tokens. What follows?",
        options=[
            Option(
                "Nothing yet: the tokens alone can make such a difference.",
                True,
                "Score both outputs in the same way, and compare signatures.",
            ),
            Option(
                "The paper's system is better, because 3 BLEU is more than chance.",
                False,
                "The two numbers may have been counted in different ways.",
            ),
            Option(
                "Yours is better, because sacrebleu is stricter.",
                False,
                "sacrebleu is neither stricter nor kinder. It says what it does.",
            ),
            Option(
                "Both are equal, because 3 BLEU is less than the spread of seeds.",
                False,
                "The spread is another matter. These two numbers cannot be compared at all.",
            ),
        ],
    ),
    Question(
        id="bleu.recipe",
        text="You train recipes A and B once each. On 10,000 test sentences B is ahead, and the bootstrap gives "
        "p = .001. What does this show?",
        options=[
            Option(
                "This model of B is better on such sentences.",
                True,
                "The bootstrap draws sentences and not trainings. Another seed of the same recipe may differ as much.",
            ),
            Option(
                "Recipe B is better than recipe A.",
                False,
                "In this chapter, most pairs of seeds of *one* recipe come out different, too.",
            ),
            Option(
                "B's translations are better to a reader.",
                False,
                "They share more n-grams with the references, and that is all that BLEU sees.",
            ),
            Option(
                "The difference is chance with a probability of one in a thousand.",
                False,
                "p asks how often equal systems would differ so much. It is no probability that they are equal.",
            ),
        ],
    ),
    Question(
        id="bleu.meaning",
        text="A translator drops the word *not* from every negative sentence. What does BLEU show on a large test set?",
        options=[
            Option(
                "a small loss, as for any other missing word",
                True,
                "BLEU counts n-grams. Which word is missing makes no difference to it.",
            ),
            Option(
                "a large loss, because the sentences now say the opposite",
                False,
                "BLEU compares words and knows nothing of what they say.",
            ),
            Option(
                "no loss at all, because one word of many is missing",
                False,
                "The n-grams around the missing word do not match any more.",
            ),
            Option(
                "a gain, because deleting an uncertain word raises BLEU",
                False,
                "That holds for a *wrong* word at the end. Here a right one is missing.",
            ),
        ],
    ),
]
