"""Questions of chapter 15, beam search."""

import math

from course_practice.quizzes.engine import Option, Question

# By hand: two words to choose from, then an end.
FIRST, AFTER_FIRST, SECOND, AFTER_SECOND = 0.55, 0.4, 0.45, 0.8
GREEDY, OTHER = FIRST * AFTER_FIRST, SECOND * AFTER_SECOND

# Two finished sentences: log P and length.
SHORT, LONG = (-2.0, 2), (-3.0, 6)
ALPHAS = (0.0, 0.5, 1.0)
SCORES = {alpha: [p / n**alpha for p, n in (SHORT, LONG)] for alpha in ALPHAS}
CROSS = math.log(LONG[0] / SHORT[0]) / math.log(LONG[1] / SHORT[1])

QUESTIONS = [
    Question(
        id="beam_search.guess_greedy",
        text="In how many of the 300 sentences does the model find the order that begins with the time more probable "
        "than what greedy search wrote?",
        guess=True,
        options=[
            Option("in none: greedy search takes the best", False, "It takes the best *token* at each step."),
            Option("in a few, by chance", False, "Think of the first word: which is likelier, and why?"),
            Option(
                "in more than half of them",
                True,
                "The subject is the likelier first word, but what follows it is divided among four orders.",
            ),
            Option("in all of them", False, "In some sentences greedy search begins with the time by itself."),
        ],
    ),
    Question(
        id="beam_search.guess_right",
        text="Search errors fall from more than half of the sentences to nearly none. How much does the share of right "
        "translations rise from width 1 to width 8?",
        guess=True,
        options=[
            Option("by more than a half, like the search errors", False, "Is a sentence with a search error wrong?"),
            Option("by about a tenth", False, "Which sentence is found instead, and was the one before it wrong?"),
            Option("hardly at all", True, "What greedy search wrote was mostly one of the other right orders."),
        ],
    ),
    Question(
        id="beam_search.guess_cache",
        text="The cache computes 16.5 times fewer positions. How many times faster does a small Transformer write one "
        "sentence of 32 tokens?",
        guess=True,
        options=[
            Option(
                "16.5 times", False, "Does a step with 32 positions take 32 times as long as one with a single one?"
            ),
            Option("about 8 times", False, "How long does a step take in which there is nearly nothing to compute?"),
            Option(
                "less than 2 times",
                True,
                "With a single short sentence, a step costs nearly the same for 1 position and for 32.",
            ),
        ],
    ),
    Question(
        id="beam_search.first_word",
        text="Greedy search begins with a word that has the probability 0.6, and beam search with one that has 0.4. "
        "Whose sentence is more probable?",
        options=[
            Option("that of greedy search, since 0.6 is more than 0.4", False, "The following factors decide as well."),
            Option(
                "that cannot be said yet",
                True,
                "0.6 is what all sentences with this beginning have together; it is not known how they share it.",
            ),
            Option("that of beam search, since it keeps more beams", False, "It usually finds more, but not always."),
            Option("both are equally probable", False, "The first factors differ, and so may all others."),
        ],
    ),
    Question(
        id="beam_search.by_hand",
        text=f"First word: A {FIRST}, B {SECOND}. After A the best word has {AFTER_FIRST}, after B {AFTER_SECOND}; "
        "then the end is sure. What do greedy search and a beam of width 2 find?",
        options=[
            Option(f"{GREEDY:.2f} and {GREEDY:.2f}", False, "Width 2 keeps B as well, and goes on from it."),
            Option(f"{OTHER:.2f} and {OTHER:.2f}", False, "Greedy search has dropped B after the first word."),
            Option(
                f"{GREEDY:.2f} and {OTHER:.2f}",
                True,
                f"{FIRST} · {AFTER_FIRST} = {GREEDY:.2f}, and {SECOND} · {AFTER_SECOND} = {OTHER:.2f}.",
            ),
            Option(
                f"{AFTER_FIRST:.2f} and {AFTER_SECOND:.2f}",
                False,
                "These are the last factors alone. The probability of a sentence is a product.",
            ),
        ],
    ),
    Question(
        id="beam_search.whose_fault",
        text="A translation is wrong. The model gives it a higher probability than it gives to any right one. What do "
        "you know?",
        options=[
            Option(
                "It is a search error: a wider beam will help.",
                False,
                "A wider beam finds more probable sentences, and no right one is.",
            ),
            Option(
                "It is a model error, whatever else the search has missed.",
                True,
                "The model prefers a wrong sentence to all right ones, and a better search cannot change that.",
            ),
            Option(
                "Nothing: both may be to blame in equal parts.", False, "The comparison shows what the model likes."
            ),
            Option("The length penalty is too small.", False, "The probability is compared here, not the score."),
        ],
    ),
    Question(
        id="beam_search.alpha",
        text=f"log P is {SHORT[0]:g} for a sentence of {SHORT[1]} tokens and {LONG[0]:g} for one of {LONG[1]}. Which "
        "wins, with scores log P / length^α, for α = 0, for α = 0.5, and for α = 1?",
        options=[
            Option("the short one each time", False, f"For α = 1: {SCORES[1.0][0]:.2f} against {SCORES[1.0][1]:.2f}."),
            Option(
                "short, long, long",
                True,
                f"The scores cross at α = {CROSS:.2f}, and larger α favors long sentences.",
            ),
            Option(
                "long, long, short",
                False,
                "The sign is turned: dividing negative numbers by more brings them nearer to 0.",
            ),
            Option(
                "short, short, long",
                False,
                f"For α = 0.5: {SCORES[0.5][0]:.2f} against {SCORES[0.5][1]:.2f}.",
            ),
        ],
    ),
    Question(
        id="beam_search.width_and_quality",
        text="You raise the width from 4 to 40. The mean log-probability rises, and the translations get worse. What "
        "is the likeliest reason?",
        options=[
            Option(
                "There is a bug in the search, since it finds worse sentences.", False, "It finds *more probable* ones."
            ),
            Option(
                "The model gives wrong sentences, perhaps short ones, too much probability.",
                True,
                "Search errors had hidden these model errors.",
            ),
            Option("A width of 40 overfits the training data.", False, "Searching changes no weight."),
            Option("The beams have become copies of one another.", False, "Copies would find less, not more."),
        ],
    ),
    Question(
        id="beam_search.what_is_cached",
        text="Which of these does a decoder keep from step to step?",
        many=True,
        options=[
            Option("the queries of earlier tokens", False, "A query is used in its own step and never again."),
            Option("the keys of earlier tokens", True, "Each later query is compared with them."),
            Option("the values of earlier tokens", True, "Each later output is a weighted mean of them."),
            Option("keys and values of the memory", True, "They never change: once for each sentence and layer."),
        ],
    ),
    Question(
        id="beam_search.width_one_is_right",
        text="With a cache, greedy search writes the same as without. With width 4, half of the translations are "
        "wrong. Where do you look first?",
        options=[
            Option("at the position of the new token", False, "Greedy search would be wrong, too."),
            Option("at the length penalty", False, "It changes which sentence wins, but not what the cache gives."),
            Option(
                "at the reordering of the cache",
                True,
                "With one beam there is nothing to reorder. With four, a beam reads the history of another.",
            ),
            Option("at the mask of the memory", False, "Greedy search needs that mask as well."),
        ],
    ),
    Question(
        id="beam_search.judge_stops",
        text="Uniform-cost search stops when a finished sentence comes *out of* the heap. Why not when one is put in?",
        options=[
            Option(
                "A beginning that is still in the heap may be more probable, and so may its end.",
                True,
                "Only what comes out is at least as probable as everything that is left.",
            ),
            Option("Its probability is not known before.", False, "It is known when the sentence is put in."),
            Option("The heap would not be sorted any more.", False, "A heap takes new entries at any time."),
            Option("It might be longer than allowed.", False, "Sentences that are too long are never put in."),
        ],
    ),
]
