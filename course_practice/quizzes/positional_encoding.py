"""Questions of chapter 07, positional encoding."""

import math

from course_lib.positional_encoding import sinusoidal_encoding
from course_practice.quizzes.engine import Option, Question

WIDTH = 128
PE = sinusoidal_encoding(100, WIDTH).double()
N_SHORT, N_LONG = 16, 256


def _norm(channels):
    return f"{PE[7, :channels].norm().item():.0f}"


def _factor():
    return f"{math.log(N_LONG) / math.log(N_SHORT):.0f}"


QUESTIONS = [
    Question(
        id="positional_encoding.same_tokens",
        text="One layer of self-attention, without a mask and without positions, must find the subject of a sentence. "
        "For which data can it be right about every noun?",
        options=[
            Option(
                "For words that show their role themselves, as 의사가 and 의사를 do.",
                True,
                "Two different tokens have two different vectors. The role stands in the token, so no order is needed.",
            ),
            Option(
                "For English, if it has more heads.",
                False,
                "Each head gives a token the same output in every order of the same tokens, and so do all of them "
                "together.",
            ),
            Option(
                "For Korean whose particles are tokens of their own.",
                False,
                "Then both sentences hold the same tokens, 의사, 가, 가수, 를, and nothing says which particle belongs "
                "to whom.",
            ),
            Option(
                "For none.",
                False,
                "What it cannot use is order. Where the tokens themselves tell the roles apart, it needs none.",
            ),
        ],
    ),
    Question(
        id="positional_encoding.pair",
        text="d_model is 8. Which channels turn with the speed 1 / 10000^(2 · 1 / 8)?",
        options=[
            Option(
                "channels 2 and 3",
                True,
                "i = 1 is the second *pair*: its sine stands in channel 2i = 2, its cosine in channel 3.",
            ),
            Option(
                "channel 1 alone",
                False,
                "This takes i for the number of a channel. i counts pairs, and a pair shares its speed.",
            ),
            Option(
                "channels 1 and 5",
                False,
                "In tables made of two halves, the second pair does stand in channels 1 and 5. Here sine and cosine "
                "alternate.",
            ),
            Option(
                "channels 0 and 1",
                False,
                "They are the pair i = 0, which turns by one radian at each position.",
            ),
        ],
    ),
    Question(
        id="positional_encoding.norm",
        text=f"d_model is {WIDTH}. How long is the sinusoidal vector of position 7?",
        options=[
            Option(
                _norm(WIDTH),
                True,
                f"Each of the {WIDTH // 2} pairs adds sin² + cos² = 1, at every position, and the root of "
                f"{WIDTH // 2} is {_norm(WIDTH)}.",
            ),
            Option("1", False, "Each *pair* has the length 1. There are 64 of them."),
            Option(
                f"{math.sqrt(WIDTH):.1f}",
                False,
                "This would be the norm if every channel were 1 or −1. Sine and cosine *together* make 1.",
            ),
            Option(
                "It depends on the position.",
                False,
                "It would if the odd channels also held the sine. With the cosine, every pair has the length 1.",
            ),
        ],
    ),
    Question(
        id="positional_encoding.shift",
        text="Why can a head with sinusoids look “two back” from every position with the same two matrices?",
        options=[
            Option(
                "A step of two is the same rotation at every position.",
                True,
                "The projection of the queries can contain this rotation; it turns each clock by a fixed angle.",
            ),
            Option(
                "Vectors of neighboring positions are the most similar ones.",
                False,
                "Then every position would find itself, because it is the most similar of all. The similarity is also "
                "the same to both sides.",
            ),
            Option(
                "The encoding holds relative positions.",
                False,
                "It holds absolute ones: equal distances, different vectors. The distance appears only in products.",
            ),
            Option(
                "The softmax removes what the positions have in common.",
                False,
                "It removes what all *keys* of one query have in common, which says nothing about two back.",
            ),
        ],
    ),
    Question(
        id="positional_encoding.exists",
        text="A model is trained on 16 words with sinusoids. At position 30 it fails. What shows that the *unseen "
        "position* is a cause?",
        options=[
            Option(
                "Trained with random offsets, on sentences just as short, it no longer fails there.",
                True,
                "Only the positions changed: the sentences, the number of keys, and the model stayed the same.",
            ),
            Option(
                "The sinusoidal table does have a row 30.",
                False,
                "A row that exists is not a row that was trained on: the learned matrices have never met it.",
            ),
            Option(
                "A learned table of 256 rows fails there, too.",
                False,
                "It fails as well, but this does not separate unseen positions from, say, the larger number of keys.",
            ),
            Option(
                "Trained on sentences of 64 words, it no longer fails there.",
                False,
                "This changes two things at once: the positions and the number of keys.",
            ),
        ],
    ),
    Question(
        id="positional_encoding.many_keys",
        text=f"Learned numbers for distances, trained with {N_SHORT} keys, tested with {N_LONG}. By what do you "
        "multiply the scores to repair the test?",
        options=[
            Option(
                f"{_factor()}, the ratio of the logarithms",
                True,
                f"ln {N_LONG} / ln {N_SHORT} = {_factor()}. An exponential of scores twice as large makes up for "
                "sixteen times as many keys.",
            ),
            Option(
                f"{N_LONG // N_SHORT}, the ratio of the lengths",
                False,
                "The weights come from exponentials of the scores, so the logarithm of the length is what counts. "
                "This makes them far too sharp.",
            ),
            Option(
                f"{math.sqrt(N_LONG / N_SHORT):.0f}, the root of the ratio of the lengths",
                False,
                "A root belongs to the standard deviation of a sum, as in √d_k. Here exponentials compete.",
            ),
            Option(
                "1, since distances are the same in longer texts",
                False,
                "The distances are known, but the true key competes with more of the others: the model is right less "
                "than half of the time.",
            ),
        ],
    ),
    Question(
        id="positional_encoding.diagnosis",
        text="Your encoder trains, but shuffling the words of a sentence only shuffles its outputs. The table of "
        "positions is right. What is most likely wrong?",
        options=[
            Option(
                "The sum is not kept, or every token gets the same row.",
                True,
                "Without any positions, or with one row for all tokens, the layer is blind to order. "
                "`pe[: x.size(0)]` and a line `x + pe` do this.",
            ),
            Option(
                "√d_model is missing.",
                False,
                "Then positions are *too* loud beside the words, not silent.",
            ),
            Option(
                "The odd channels hold the sine, too.",
                False,
                "Half of the table would say nothing new, but the rows would still differ from each other.",
            ),
            Option(
                "The causal mask was forgotten.",
                False,
                "An encoder has none. Its positions must make the difference.",
            ),
        ],
    ),
    Question(
        id="positional_encoding.worse_than_chance",
        text="A classifier with two equally frequent labels is right about 40 % of new sentences, in every run. What "
        "should you look for first?",
        options=[
            Option(
                "a test sentence whose near twin, with the other label, is in the training data",
                True,
                "To be reliably worse than a coin, it must have learned something about the test sentences, and the "
                "wrong way round.",
            ),
            Option(
                "a model that is too small",
                False,
                "A model that learns nothing is right about half of the time, not less.",
            ),
            Option(
                "a learning rate that is too high",
                False,
                "This gives noise around one half. It is not wrong in every run.",
            ),
            Option(
                "too few test sentences",
                False,
                "Then the share would vary around one half from run to run, up and down.",
            ),
        ],
    ),
    Question(
        id="positional_encoding.guess_roles",
        text="What share of the roles in new sentences will be right?",
        guess=True,
        options=[
            Option(
                "about one half, with some luck more",
                False,
                "Nearly: but luck plays no part. Of two mirrored sentences, exactly one is answered correctly.",
            ),
            Option(
                "exactly one half",
                True,
                "Each noun gets the same output in both sentences of a pair, so it is right in exactly one.",
            ),
            Option(
                "more, because subjects are often certain people",
                False,
                "Here every person is as often the subject as the object.",
            ),
        ],
    ),
    Question(
        id="positional_encoding.guess_length",
        text="Beyond the trained length, which kind keeps the word two back?",
        guess=True,
        options=[
            Option(
                "sinusoids, because their formula has no end",
                False,
                "The rows exist, but the trained matrices have never met them.",
            ),
            Option(
                "neither of the two",
                True,
                "Learned rows beyond the training are random numbers, and computed ones are unknown to the matrices.",
            ),
            Option(
                "the learned table, because it has rows for 256 positions",
                False,
                "The rows from 16 on never got a gradient.",
            ),
        ],
    ),
]
