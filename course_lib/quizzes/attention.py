"""Questions of chapter 02, attention."""

import math

import torch

from course_lib.quizzes.engine import Option, Question

EXPONENTIALS, VALUES = [6, 1, 3], [20, 0, 10]
BATCH, Q_LEN, K_LEN, D_K, D_V = 2, 5, 7, 11, 13
NARROW, WIDE = 16, 256
D_MODEL, N_HEADS = 512, 8


def _mean(weights):
    return f"{sum(w * v for w, v in zip(weights, VALUES, strict=True)):g}"


WEIGHTS = torch.tensor(EXPONENTIALS).double().log().softmax(dim=0).tolist()

QUESTIONS = [
    Question(
        id="attention.soft",
        text="Why does attention mix all values, where taking the value of the best key would be cheaper?",
        options=[
            Option(
                "The mixture changes smoothly with the query, so the query can learn.",
                True,
                "The index of the best key stays or jumps: its gradient is zero wherever it exists.",
            ),
            Option(
                "The best key alone cannot be found without a softmax.",
                False,
                "`argmax` finds it from the scores. The softmax does not even change which key is best.",
            ),
            Option(
                "A mean of many values is always closer to the right answer.",
                False,
                "Often one word is what is wanted, and attention may put nearly all weight on it. It must get there "
                "by learning.",
            ),
            Option(
                "Otherwise the output would not have the width of a value.",
                False,
                "One value alone has that width as well.",
            ),
        ],
    ),
    Question(
        id="attention.by_hand",
        text=f"The exponentials of a query's three scores are {', '.join(map(str, EXPONENTIALS))}, the values are "
        f"{', '.join(map(str, VALUES))}. What is the output?",
        options=[
            Option(
                _mean(WEIGHTS),
                True,
                f"The exponentials sum to {sum(EXPONENTIALS)}, so the weights are "
                f"{', '.join(f'{w:.1f}' for w in WEIGHTS)}, and the output is the mean by these weights.",
            ),
            Option(
                _mean(EXPONENTIALS),
                False,
                f"That uses the exponentials as weights. Divide by their sum, {sum(EXPONENTIALS)}.",
            ),
            Option(
                _mean([1 / 3] * 3),
                False,
                "That is the plain mean: the scores would make no difference.",
            ),
            Option(
                f"{max(zip(WEIGHTS, VALUES, strict=True))[1]}",
                False,
                "That is the value of the best key alone, a hard lookup. The third key has its share too.",
            ),
        ],
    ),
    Question(
        id="attention.axis",
        text="Scores have the shape (batch, n_heads, q_len, k_len). Over which axis does the softmax run, and what "
        "sums to 1?",
        options=[
            Option(
                "`dim=-1`; each row, that is the weights of one query over the keys",
                True,
                "Every query shares out one unit of attention among the keys, which are the last axis.",
            ),
            Option(
                "`dim=-2`; each column, that is the weights of one key over the queries",
                False,
                "Then the keys share themselves out among the queries, and a query may get nothing at all.",
            ),
            Option(
                "`dim=1`; each row, because axis 1 of a table is its columns",
                False,
                "Axis 1 is the columns of a table without axes in front. Here it is the heads, and they would compete.",
            ),
            Option(
                "the last two; all weights of one table together",
                False,
                "Then a sentence with many queries would leave only crumbs for each of them.",
            ),
        ],
    ),
    Question(
        id="attention.shape",
        text=f"`query` ({BATCH}, {Q_LEN}, {D_K}), `key` ({BATCH}, {K_LEN}, {D_K}), `value` ({BATCH}, {K_LEN}, {D_V}). "
        "What is the shape of the output?",
        options=[
            Option(
                f"({BATCH}, {Q_LEN}, {D_V})",
                True,
                "One row for each query, as wide as a value. Features vanish in the scores, keys in the output.",
            ),
            Option(
                f"({BATCH}, {Q_LEN}, {K_LEN})",
                False,
                "That is the shape of the scores and of the weights.",
            ),
            Option(
                f"({BATCH}, {Q_LEN}, {D_K})",
                False,
                "What is mixed are the values, so the width is theirs: d_v.",
            ),
            Option(
                f"({BATCH}, {K_LEN}, {D_V})",
                False,
                "That is what comes out when the sum runs over the queries. Each query gets an answer, not each key.",
            ),
        ],
    ),
    Question(
        id="attention.ones",
        text="You call an attention function with a value of ones everywhere, and it returns 1.57, 0.86, 0.57. What is "
        "wrong?",
        options=[
            Option(
                "The weights of one query do not sum to 1, or the sum ran over the queries.",
                True,
                "A mean of ones is one, whatever the weights, provided they are the weights of one query over its "
                "keys.",
            ),
            Option(
                "The division by √d_k was forgotten.",
                False,
                "Any divisor gives weights that sum to 1. This test cannot see the scaling.",
            ),
            Option(
                "The keys were reshaped where they should have been transposed.",
                False,
                "That spoils the scores. A softmax makes proper weights of spoiled scores too, so ones come back as "
                "ones.",
            ),
            Option(
                "Nothing: the outputs depend on the query.",
                False,
                "They do for values that differ. If all values are the same, there is only one thing to hand out.",
            ),
        ],
    ),
    Question(
        id="attention.roles",
        text="You double every value and leave queries and keys as they are. What happens?",
        options=[
            Option(
                "The weights stay the same, the outputs double.",
                True,
                "Only queries and keys decide on the weights; the output is a mean of the values.",
            ),
            Option(
                "The weights get sharper, and the outputs grow more than twofold.",
                False,
                "That is what longer queries or keys do. Values take no part in the scores.",
            ),
            Option(
                "Nothing: softmax brings everything back to a sum of 1.",
                False,
                "The softmax stands before the values. It never sees them.",
            ),
            Option(
                "The weights are halved, so that the outputs stay the same.",
                False,
                "The weights come from the scores alone, and always sum to 1.",
            ),
        ],
    ),
    Question(
        id="attention.spread",
        text=f"Entries of queries and keys have mean 0 and variance 1. d_k grows from {NARROW} to {WIDE}. By which "
        "factor does the standard deviation of the unscaled scores grow?",
        options=[
            Option(
                f"{math.sqrt(WIDE / NARROW):g}",
                True,
                f"It is √d_k: from {math.sqrt(NARROW):g} to {math.sqrt(WIDE):g}.",
            ),
            Option(
                f"{WIDE / NARROW:g}",
                False,
                "That is the *variance*: it grows with the number of terms. The standard deviation is its root.",
            ),
            Option(
                "1",
                False,
                "That holds for the scaled scores. Unscaled, every feature adds its share.",
            ),
            Option(
                f"{math.sqrt(math.sqrt(WIDE / NARROW)):g}",
                False,
                "One root too many: variances add up, and the standard deviation is their root.",
            ),
        ],
    ),
    Question(
        id="attention.saturation",
        text="What goes wrong in the softmax when scores are very large?",
        options=[
            Option(
                "One weight is nearly 1, the others nearly 0, and the slopes w (1 − w) vanish.",
                True,
                "Softmax saturates. What it gives is still correct, but hardly any gradient gets back to the query.",
            ),
            Option(
                "The weights explode, and the output with them.",
                False,
                "No weight can exceed 1. The output stays between the values.",
            ),
            Option(
                "All weights go to 0, and the output vanishes.",
                False,
                "They sum to 1, so they cannot all go to 0.",
            ),
            Option(
                "The weights become equal, so that all keys count the same.",
                False,
                "That happens for very *small* differences, for example when scores are divided by too much.",
            ),
        ],
    ),
    Question(
        id="attention.which_size",
        text=f"A model has d_model = {D_MODEL} and {N_HEADS} heads of equal width. By what are the scores of one head "
        "divided?",
        options=[
            Option(
                f"{math.sqrt(D_MODEL // N_HEADS):g}",
                True,
                f"A head's queries and keys have {D_MODEL // N_HEADS} features, and √{D_MODEL // N_HEADS} is the "
                "spread of their dot products.",
            ),
            Option(
                f"{math.sqrt(D_MODEL):.1f}",
                False,
                "That is √d_model. The scores of one head are sums of d_k terms, fewer than d_model.",
            ),
            Option(
                f"{D_MODEL // N_HEADS}",
                False,
                "That is d_k without the root: the weights would come out almost equal.",
            ),
            Option(
                f"{math.sqrt(N_HEADS):.1f}",
                False,
                "The number of heads says nothing about the size of one score.",
            ),
        ],
    ),
    Question(
        id="attention.order",
        text="You shuffle the keys and, in the same way, the values. What happens to the outputs?",
        options=[
            Option(
                "They stay the same.",
                True,
                "Each value keeps its key and so its weight, and a sum has no order. Attention alone knows no word "
                "order.",
            ),
            Option(
                "They are shuffled in the same way.",
                False,
                "Outputs belong to *queries*. Shuffle those, and the outputs follow.",
            ),
            Option(
                "They become meaningless.",
                False,
                "That happens when you shuffle keys or values alone, so that each key hands out another's value.",
            ),
            Option(
                "They change a little, because the softmax adds its terms in another order.",
                False,
                "A sum does not depend on the order of its terms (beyond the last digit of floating point).",
            ),
        ],
    ),
]
