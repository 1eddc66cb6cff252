"""Questions of chapter 05, masks."""

import math

import torch

from course_lib.masks import causal_mask, masked_softmax, padding_mask
from course_lib.quizzes.engine import Option, Question

N_WORDS, SEQ_LEN = 10, 8
BATCH, N_HEADS = 2, 3
IDS = torch.tensor([[5, 6, 7, 0], [8, 9, 0, 0]])
N_TOKENS = IDS.shape[1]
SCORES = torch.tensor([[1.0, 3.0, 4.0]]).log()
FIRST_TWO = torch.tensor([True, True, False])


def _fractions(weights, whole):
    return ", ".join(f"{round(weight * whole)}/{whole}" for weight in weights.flatten().tolist())


def _visible(mask):
    return f"{int(mask.sum())}"


def _mixed_up_softmax():
    zeroed = SCORES.softmax(dim=-1).masked_fill(~FIRST_TWO, 0.0)
    return _fractions(zeroed, 8)


QUESTIONS = [
    Question(
        id="masks.polarity",
        text="What does `True` at `mask[i, j]` mean in this course?",
        options=[
            Option(
                "query i may attend to key j",
                True,
                "As in `F.scaled_dot_product_attention`: True keeps, rows are queries, columns are keys.",
            ),
            Option(
                "query i must ignore key j",
                False,
                "That is the meaning in `nn.MultiheadAttention`: hand it our mask as it is, and it sees the future "
                "alone.",
            ),
            Option(
                "key i may be seen by query j",
                False,
                "Rows are queries and columns are keys. Read the other way, a causal mask would show the future.",
            ),
            Option(
                "the score of i and j is raised by 1",
                False,
                "A boolean mask is never added. Adding 0 and 1 hides nothing, it only tilts the weights a little.",
            ),
        ],
    ),
    Question(
        id="masks.diagonal",
        text="A colleague writes `tril(-1)`, so that a token cannot see itself. What happens to token 0?",
        options=[
            Option(
                "It has nothing to look at: NaN with −∞, the whole future with −1e10.",
                True,
                "A softmax of equal scores is uniform: with −1e10 the one row that may see nothing sees everything.",
            ),
            Option(
                "It looks at itself all the same, because every row needs a key.",
                False,
                "Nothing in a softmax adds a key by itself. The row stays empty, and 0 / 0 is NaN.",
            ),
            Option(
                "It outputs zeros, so the first word is ignored in training.",
                False,
                "Only a softmax that cares for empty rows gives zeros. The plain one gives NaN, and NaN spreads.",
            ),
            Option(
                "Nothing bad: token 0 has no past, so it has nothing to learn.",
                False,
                "It must guess token 1, and token 0 is what it knows. With an empty row it knows nothing, or NaN.",
            ),
        ],
    ),
    Question(
        id="masks.by_hand",
        text="The exponentials of three scores are 1, 3 and 4. The third key is hidden. Which weights remain?",
        options=[
            Option(
                _fractions(masked_softmax(SCORES, FIRST_TWO), 4),
                True,
                "The hidden term vanishes from the sum as well: 1 + 3 = 4 stands below the fraction.",
            ),
            Option(
                _mixed_up_softmax(),
                False,
                "These sum to a half: the hidden key was set to 0 after the softmax and still stands in the "
                "denominator.",
            ),
            Option(
                _fractions(torch.tensor([1.0, 3.0, 1.0]) / 5, 5),
                False,
                "Here the hidden score was set to 0, and exp(0) = 1: it takes part with the weight of an ordinary key.",
            ),
            Option(
                _fractions(torch.full((3,), 1 / 3), 3),
                False,
                "A uniform row is what equal scores give. The visible scores, 1 and 3 after exp, are not equal.",
            ),
        ],
    ),
    Question(
        id="masks.why_before",
        text="Why are hidden scores set to −∞ before the softmax, and not weights to 0 after it?",
        options=[
            Option(
                "so that hidden keys vanish from the sum below the fraction, too",
                True,
                "exp(−∞) = 0 takes the term out of numerator and denominator, and the visible weights sum to 1.",
            ),
            Option(
                "because a softmax cannot return an exact 0",
                False,
                "It can: exp(−∞) is exactly 0. And a weight set to 0 afterwards would be exactly 0 as well.",
            ),
            Option(
                "because setting weights to 0 would let no gradient through",
                False,
                "No gradient reaches a hidden score either way. What goes wrong is the sum of the visible weights.",
            ),
            Option(
                "because a second softmax would otherwise be needed, which is slow",
                False,
                "A second softmax would be wrong, not slow: exp(0) = 1 revives every zero.",
            ),
        ],
    ),
    Question(
        id="masks.which_cells",
        text="The ids are 8 9 0 0 (0 is a pad). How many of the 16 cells does `padding & causal` leave visible?",
        options=[
            Option(
                _visible(padding_mask(IDS)[1, 0] & causal_mask(N_TOKENS)),
                True,
                "Row 0 sees one key. Rows 1, 2 and 3 see the two real ones: the rows of pads stay, their columns go.",
            ),
            Option(
                _visible(causal_mask(N_TOKENS)),
                False,
                "That is the causal mask alone: the two pads must disappear as keys as well.",
            ),
            Option(
                _visible(padding_mask(IDS)[1, 0].mT & padding_mask(IDS)[1, 0] & causal_mask(N_TOKENS)),
                False,
                "Here the rows of the pads are hidden, too. That is not needed, and it leaves rows with nothing to "
                "see.",
            ),
            Option(
                _visible(padding_mask(IDS)[1, 0] | causal_mask(N_TOKENS)),
                False,
                "That is `|`: one permission was enough. A cell needs both.",
            ),
        ],
    ),
    Question(
        id="masks.shape",
        text=f"Scores are ({BATCH}, {N_HEADS}, {N_TOKENS}, {N_TOKENS}). Which shape does the padding mask need?",
        options=[
            Option(
                f"{tuple(padding_mask(IDS).shape)}",
                True,
                "Batch first, keys last, and an axis of size 1 for everything that makes no difference: heads, "
                "queries.",
            ),
            Option(
                f"{tuple(IDS.shape)}",
                False,
                "Shapes line up from the right: this would be read as (q_len, k_len), without an error if the sizes "
                "agree.",
            ),
            Option(
                f"{(BATCH, 1, N_TOKENS, 1)}",
                False,
                "This runs along the queries: pads would be blindfolded, and real tokens would still look at them.",
            ),
            Option(
                f"{(BATCH, N_TOKENS, 1, 1)}",
                False,
                "The tokens lie on the axis of the heads here. Keys are the last axis of the scores.",
            ),
        ],
    ),
    Question(
        id="masks.empty_rows",
        text="Which of these can leave a row with nothing to see?",
        many=True,
        options=[
            Option(
                "padding on the left, together with the causal mask",
                True,
                "The first pads can only look back, and behind them are only pads.",
            ),
            Option(
                "hiding pads both as keys and as queries",
                True,
                "Every row of a pad is then empty. Hiding them as keys is enough.",
            ),
            Option(
                "padding on the right, together with the causal mask",
                False,
                "Every row sees key 0, which is a real token here.",
            ),
            Option(
                "the causal mask alone",
                False,
                "The diagonal is kept: each row sees at least itself.",
            ),
        ],
    ),
    Question(
        id="masks.floor",
        text=f"{N_WORDS} random words, {SEQ_LEN} tokens a sentence, no mask. Near which loss does a "
        "model that copies its right neighbor end?",
        options=[
            Option(
                f"{math.log(N_WORDS) / SEQ_LEN:.2f}",
                True,
                f"Only the last position has no neighbor to copy: it pays ln {N_WORDS}, the others nothing.",
            ),
            Option(
                f"{math.log(N_WORDS):.2f}",
                False,
                f"That is the floor ln {N_WORDS} of an honest model, which cannot see its neighbor.",
            ),
            Option(
                f"{0:.2f}",
                False,
                "The answer of the last position does not stand in the input, so there is nothing to copy there.",
            ),
            Option(
                f"{1 / N_WORDS:.2f}",
                False,
                f"1/{N_WORDS} is the probability of each word, not its cost: that is the negative logarithm.",
            ),
        ],
    ),
    Question(
        id="masks.probe",
        text="A decoder's mask is `tril(1)`. Which probe finds it without any training?",
        options=[
            Option(
                "the leak probe",
                True,
                "Edit token t + 1, and output t moves. It needs one run for each token, and no training.",
            ),
            Option(
                "the pad probe",
                False,
                "It appends pads, and those may be hidden perfectly while the order is wrong by one.",
            ),
            Option(
                "the random-token floor",
                False,
                "It finds the leak as well, but only after training, in the loss.",
            ),
            Option(
                "a look at the shape of the output",
                False,
                "A mask never changes a shape. That is why its mistakes are silent.",
            ),
        ],
    ),
    Question(
        id="masks.cross",
        text="Which mask belongs into cross-attention, where the target looks at the source?",
        options=[
            Option(
                "the padding mask of the source",
                True,
                "The source is finished, so all of it may be seen, except its pads, which are keys here.",
            ),
            Option(
                "the causal mask",
                False,
                "It says which *target* tokens come later. Here the first target word would see one source word only.",
            ),
            Option(
                "the padding mask of the target",
                False,
                "Target tokens are the queries here, and pads are hidden as keys.",
            ),
            Option(
                "no mask",
                False,
                "Then the translation depends on how many pads the source was filled up with.",
            ),
        ],
    ),
]
