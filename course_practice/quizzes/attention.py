"""Questions of chapter 02, attention."""

import math

import torch

from course_practice.quizzes.engine import Option, Question

EXPONENTIALS, VALUES = [6, 1, 3], [20, 0, 10]
BATCH, Q_LEN, K_LEN, D_K, D_V = 2, 5, 7, 11, 13
NARROW, WIDE = 16, 256
D_MODEL, N_HEADS = 512, 8


def _mean(weights):
    return f"{sum(w * v for w, v in zip(weights, VALUES, strict=True)):g}"


WEIGHTS = torch.tensor(EXPONENTIALS).double().log().softmax(dim=0).tolist()
TABLE = torch.tensor([EXPONENTIALS, [5, 4, 1], [7, 2, 1]]) / 10  # three queries and three keys: its rows sum to 1
OVER_QUERIES = ", ".join(f"{column:.1f}" for column in TABLE.sum(dim=0).tolist())

QUESTIONS = [
    Question(
        id="attention.soft",
        text="Attention mixes all the values, although it would be cheaper to take the value of the best key alone. "
        "What is gained?",
        options=[
            Option(
                "The output changes smoothly with the query.",
                True,
                "So a gradient reaches the query, and back-propagation can teach it what to ask. The index of the best "
                "key only stays or jumps, and its gradient is zero wherever it exists.",
            ),
            Option(
                "The output carries more information, because it holds every value.",
                False,
                "It has the width of a single value, and often a single word is what is needed. A trained head may "
                "well give one key nearly all of the weight.",
            ),
            Option(
                "No search for the best key is needed.",
                False,
                "Attention scores every key as well, and the largest score can be read off at once. The softmax adds "
                "work to that.",
            ),
            Option(
                "No key is ever ignored, so that nothing is lost.",
                False,
                "A weight can come arbitrarily close to 0, and for keys that do not fit that is what training aims at.",
            ),
        ],
    ),
    Question(
        id="attention.by_hand",
        text=f"The exponentials of a query's three scores are {', '.join(map(str, EXPONENTIALS))}, and the values are "
        f"{', '.join(map(str, VALUES))}. What is the output?",
        options=[
            Option(
                _mean(WEIGHTS),
                True,
                f"The exponentials sum to {sum(EXPONENTIALS)}, so the weights are "
                f"{', '.join(f'{w:.1f}' for w in WEIGHTS)}, and the output is the weighted mean of the values.",
            ),
            Option(
                _mean(EXPONENTIALS),
                False,
                f"That uses the exponentials as weights. Divide them by their sum, {sum(EXPONENTIALS)}, first.",
            ),
            Option(
                _mean([1 / 3] * 3),
                False,
                "That is the plain mean of the values, in which the scores make no difference.",
            ),
            Option(
                f"{max(zip(WEIGHTS, VALUES, strict=True))[1]}",
                False,
                "That is the value of the best key alone, a hard lookup. The third key has a share too.",
            ),
        ],
    ),
    Question(
        id="attention.axis",
        text="Scores have the shape (batch, n_heads, q_len, k_len). Over which axis does the softmax run, and which "
        "weights sum to 1?",
        options=[
            Option(
                "`dim=-1`: the weights of one query over the keys",
                True,
                "Every query distributes one unit of attention among the keys, and the keys are the last axis.",
            ),
            Option(
                "`dim=-2`: the weights of one key over the queries",
                False,
                "Then each key would distribute itself among the queries, and a query might get almost nothing.",
            ),
            Option(
                "`dim=1`: the weights of one query, because axis 1 holds the columns",
                False,
                "Axis 1 holds the columns of a table without axes in front. Here it holds the heads, which would then "
                "compete for each cell.",
            ),
            Option(
                "the last two: all weights of a head",
                False,
                "Then a query would get less attention, the more other queries there are.",
            ),
        ],
    ),
    Question(
        id="attention.shape",
        text=f"`query` has the shape ({BATCH}, {Q_LEN}, {D_K}), `key` ({BATCH}, {K_LEN}, {D_K}), and `value` "
        f"({BATCH}, {K_LEN}, {D_V}). What is the shape of the output?",
        options=[
            Option(
                f"({BATCH}, {Q_LEN}, {D_V})",
                True,
                "There is one row for each query, as wide as a value. The product with the keys sums over d_k, the "
                "product with the values sums over k_len.",
            ),
            Option(
                f"({BATCH}, {Q_LEN}, {K_LEN})",
                False,
                "That is the shape of the scores and of the weights.",
            ),
            Option(
                f"({BATCH}, {Q_LEN}, {D_K})",
                False,
                f"The output is a weighted mean of values, so it has their width, {D_V}.",
            ),
            Option(
                f"({BATCH}, {K_LEN}, {D_V})",
                False,
                f"Each query gets an output, not each key. A sum over the queries would be an error here: the weights "
                f"have {Q_LEN} rows, and there are {K_LEN} values.",
            ),
        ],
    ),
    Question(
        id="attention.ones",
        text="You call an attention function with three queries and with ones for all values. It returns "
        f"{OVER_QUERIES}. What do you conclude?",
        options=[
            Option(
                "The weights that were added up do not sum to 1.",
                True,
                "A weighted mean of ones is 1. Perhaps the softmax ran over the wrong axis, or the sum ran over the "
                "queries. (In training, dropout on the weights does this too.)",
            ),
            Option(
                "The scores were not divided by √d_k.",
                False,
                "Whatever the divisor is, the softmax gives weights that sum to 1, so this test cannot see the "
                "scaling.",
            ),
            Option(
                "The keys were reshaped where they should have been transposed.",
                False,
                "That gives wrong scores, but the softmax makes weights that sum to 1 of wrong scores too.",
            ),
            Option(
                "Nothing is wrong, because each query has its own output.",
                False,
                "It does when the values differ. When all values are 1, every weighted mean of them is 1.",
            ),
        ],
    ),
    Question(
        id="attention.roles",
        text="You double every value and leave the queries and the keys as they are. What happens?",
        options=[
            Option(
                "The weights stay the same, and the outputs double.",
                True,
                "Queries and keys alone decide on the weights, and the output is a weighted mean of the values.",
            ),
            Option(
                "The weights become sharper, and the outputs more than double.",
                False,
                "Longer queries or keys can do that. The values take no part in the scores.",
            ),
            Option(
                "Nothing, thanks to the softmax.",
                False,
                "The softmax normalizes the scores, before any value comes in.",
            ),
            Option(
                "The outputs grow, but by less than a factor of two, because they are means.",
                False,
                "A mean of doubled numbers is exactly twice the mean.",
            ),
        ],
    ),
    Question(
        id="attention.empty_query",
        text="A query consists of zeros. What is its output?",
        options=[
            Option(
                "the plain mean of all the values",
                True,
                "All its scores are 0, and equal scores give equal weights.",
            ),
            Option(
                "a vector of zeros",
                False,
                "The *scores* are 0, but exp(0) = 1: every key gets the same positive weight.",
            ),
            Option(
                "the value of the key that is closest to zero",
                False,
                "A dot product with zeros is 0 for every key, so no key is preferred.",
            ),
            Option(
                "NaN, because the softmax divides 0 by 0",
                False,
                "The softmax divides exponentials, and exp(0) is 1. A sum of exponentials is 0 only if every score "
                "is −∞.",
            ),
        ],
    ),
    Question(
        id="attention.spread",
        text="The entries of queries and keys are independent, with mean 0 and variance 1. d_k grows from "
        f"{NARROW} to {WIDE}. By which factor does the standard deviation of the unscaled scores grow?",
        options=[
            Option(
                f"{math.sqrt(WIDE / NARROW):g}",
                True,
                f"The standard deviation of a score is √d_k, which goes from {math.sqrt(NARROW):g} to "
                f"{math.sqrt(WIDE):g}.",
            ),
            Option(
                f"{WIDE / NARROW:g}",
                False,
                "The *variance* grows by this factor, because variances add. The standard deviation is its root.",
            ),
            Option(
                "1",
                False,
                "That holds for scaled scores. Without scaling, every feature adds its share to the variance.",
            ),
            Option(
                f"{math.sqrt(math.sqrt(WIDE / NARROW)):g}",
                False,
                "That takes the root twice. The variance grows with d_k, so the standard deviation grows with √d_k.",
            ),
        ],
    ),
    Question(
        id="attention.saturation",
        text="The scores of a query lie very far apart. What goes wrong in the softmax?",
        options=[
            Option(
                "Hardly any gradient passes through it.",
                True,
                "One weight is almost 1 and the others are almost 0, so the slopes a (1 − a) almost vanish: the "
                "softmax is saturated. Its weights are still correct.",
            ),
            Option(
                "Its weights grow without bound, and the output with them.",
                False,
                "No weight can exceed 1, so the output stays between the values.",
            ),
            Option(
                "All its weights shrink toward 0, and the output vanishes.",
                False,
                "The weights sum to 1, so not all of them can shrink. One of them goes to 1.",
            ),
            Option(
                "Its weights become NaN.",
                False,
                "Only a softmax that is written as exp(s) / Σ exp(s) overflows. PyTorch's subtracts the largest score "
                "first, which leaves the weights as they are.",
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
                f"A head's queries and keys have d_k = {D_MODEL // N_HEADS} features, so its scores are sums of "
                f"{D_MODEL // N_HEADS} products, and they are divided by √{D_MODEL // N_HEADS}.",
            ),
            Option(
                f"{math.sqrt(D_MODEL):.1f}",
                False,
                "That is √d_model. A score of one head is a sum of d_k products, and d_k is smaller than d_model.",
            ),
            Option(
                f"{D_MODEL // N_HEADS}",
                False,
                "That is d_k without the root, and it would make the weights almost equal.",
            ),
            Option(
                f"{math.sqrt(N_HEADS):.1f}",
                False,
                "That is the root of the number of heads, which has no influence on the size of one head's scores.",
            ),
        ],
    ),
    Question(
        id="attention.order",
        text="You shuffle the keys, and the values in the same way. What happens to the outputs?",
        options=[
            Option(
                "They stay the same.",
                True,
                "Each value keeps its key, and so its weight, and a sum has no order. Attention alone knows nothing of "
                "word order.",
            ),
            Option(
                "They are shuffled in the same way.",
                False,
                "The outputs belong to the *queries*. If you shuffle those, the outputs follow.",
            ),
            Option(
                "They are wrong, because weights and values no longer match.",
                False,
                "They still match, because the values moved with their keys. Shuffling one of the two alone would do "
                "this.",
            ),
            Option(
                "They change, because a word's neighbors are different now.",
                False,
                "No formula of attention looks at neighbors. Each score compares one query with one key.",
            ),
        ],
    ),
    Question(
        id="attention.guess_width",
        text="Sixteen random keys, no division by √d_k: how large is the largest weight of a query, on average, at "
        "d_k = 1024?",
        guess=True,
        options=[
            Option(
                "nearly 1",
                True,
                "The scores lie tens of units apart, so the softmax gives nearly everything to the best of the random "
                "keys.",
            ),
            Option(
                "about 1/16",
                False,
                "That would need equal scores. The keys are random, but their scores differ, and the more so the wider "
                "the keys are.",
            ),
            Option(
                "about 1/2",
                False,
                "Half of the weight goes to the best key at a small width already. The differences between scores keep "
                "growing with the width.",
            ),
        ],
    ),
    Question(
        id="attention.guess_gradient",
        text="The gradient that reaches a query, without the division, as d_k grows from 1 to 1024:",
        guess=True,
        options=[
            Option(
                "Its mean grows, and its median vanishes.",
                True,
                "A typical query begins in a saturated softmax and gets almost nothing. The others get a slope times a "
                "key, and the keys grow longer. But these queries also become fewer, so the mean levels off.",
            ),
            Option(
                "Its mean and its median vanish.",
                False,
                "The slopes of a typical softmax do shrink. But a few queries keep their slopes, which are multiplied "
                "by a key, whose length grows as √d_k.",
            ),
            Option(
                "Its mean and its median grow.",
                False,
                "The keys do grow longer. But a typical softmax is saturated, so that its slopes are almost 0 and a "
                "long key does not help.",
            ),
        ],
    ),
]
