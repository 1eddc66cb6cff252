"""Questions of chapter 05, masks."""

import math

import torch

from course_lib.masks import causal_mask, masked_softmax, padding_mask
from course_practice.quizzes.engine import Option, Question

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


def _zeroed_afterwards():
    return _fractions(SCORES.softmax(dim=-1).masked_fill(~FIRST_TWO, 0.0), 8)


QUESTIONS = [
    Question(
        id="masks.polarity",
        text="What does `True` at `mask[i, j]` mean in this course?",
        options=[
            Option(
                "Query i may attend to key j.",
                True,
                "As in `F.scaled_dot_product_attention`: True keeps, rows are queries, and columns are keys.",
            ),
            Option(
                "Query i must ignore key j.",
                False,
                "That is the meaning in `nn.MultiheadAttention`. If you hand it a causal mask of ours as it is, each "
                "token sees only its future, and the last one sees nothing.",
            ),
            Option(
                "Key i may be seen by query j.",
                False,
                "Rows are queries and columns are keys. Read the other way, a causal mask would show the future.",
            ),
            Option(
                "The score of query i and key j is raised by 1.",
                False,
                "A mask of floats would be added like this, and a bonus of 1 hides nothing. A boolean mask is never "
                "added.",
            ),
        ],
    ),
    Question(
        id="masks.diagonal",
        text="A colleague writes the causal mask as `tril(-1)`, fills hidden scores with −∞, and calls PyTorch's "
        "`softmax`. What happens to token 0?",
        options=[
            Option(
                "Its weights are NaN, because its row is empty.",
                True,
                "It has no key left, not even its own, and the softmax of a row of −∞ divides 0 by 0.",
            ),
            Option(
                "Its weights are all 0.",
                False,
                "A softmax that takes care of empty rows does this, for example `masked_softmax` of this course. "
                "PyTorch's own gives NaN.",
            ),
            Option(
                "Its weights are equal, so that it sees the whole future.",
                False,
                "A large finite number such as −1e10 would do this, because a row of equal scores gives equal weights. "
                "With −∞ the row is NaN.",
            ),
            Option(
                "It still sees itself, because no row can be without a key.",
                False,
                "Nothing in the softmax puts a key back. The row stays empty.",
            ),
        ],
    ),
    Question(
        id="masks.by_hand",
        text="The exponentials of three scores are 1, 3, and 4. The third key is hidden. Which weights remain?",
        options=[
            Option(
                _fractions(masked_softmax(SCORES, FIRST_TWO), 4),
                True,
                "The hidden key also drops out of the sum, so the denominator is 1 + 3 = 4.",
            ),
            Option(
                _zeroed_afterwards(),
                False,
                "These sum to a half. The weight was set to 0 after the softmax, so the hidden key still counts in the "
                "denominator.",
            ),
            Option(
                _fractions(torch.tensor([1.0, 3.0, 1.0]) / 5, 5),
                False,
                "Here the hidden score was set to 0. Since exp(0) = 1, the key takes part like any other.",
            ),
            Option(
                _fractions(torch.full((3,), 1 / 3), 3),
                False,
                "Equal scores give equal weights. Here the visible scores differ: their exponentials are 1 and 3.",
            ),
        ],
    ),
    Question(
        id="masks.why_before",
        text="Why are hidden scores set to −∞ before the softmax, instead of setting weights to 0 after it?",
        options=[
            Option(
                "The visible weights then sum to 1.",
                True,
                "exp(−∞) = 0 takes the hidden key out of the denominator as well. (On paper, setting weights to 0 and "
                "dividing each row by its sum gives the same.)",
            ),
            Option(
                "A softmax never returns 0.",
                False,
                "It returns exactly 0 for a score of −∞, because exp(−∞) = 0.",
            ),
            Option(
                "Otherwise no gradient would reach the hidden scores.",
                False,
                "It is the other way round: without −∞ the hidden scores do get a gradient, because they stay in the "
                "denominator of the visible weights.",
            ),
            Option(
                "A second softmax would otherwise be needed to repair the sum.",
                False,
                "A second softmax would not repair it: exp(0) = 1 gives every hidden key a positive weight again.",
            ),
        ],
    ),
    Question(
        id="masks.which_cells",
        text="The ids are 8 9 0 0, where 0 is a pad. How many of the 16 cells does `padding & causal` leave visible?",
        options=[
            Option(
                _visible(padding_mask(IDS)[1, 0] & causal_mask(N_TOKENS)),
                True,
                "Row 0 sees one key, and rows 1, 2, and 3 see the two real ones. The columns of the pads are hidden, "
                "but their rows stay.",
            ),
            Option(
                _visible(causal_mask(N_TOKENS)),
                False,
                "That is the causal mask alone. The two pads must be hidden as keys as well.",
            ),
            Option(
                _visible(padding_mask(IDS)[1, 0].mT & padding_mask(IDS)[1, 0] & causal_mask(N_TOKENS)),
                False,
                "Here the rows of the pads are hidden too. That is not needed, and it leaves rows that see nothing.",
            ),
            Option(
                _visible(padding_mask(IDS)[1, 0] | causal_mask(N_TOKENS)),
                False,
                "That is `|`, for which one permission is enough. A cell needs both.",
            ),
        ],
    ),
    Question(
        id="masks.shape",
        text=f"Scores have the shape ({BATCH}, {N_HEADS}, {N_TOKENS}, {N_TOKENS}). Which shape does the padding mask "
        "need?",
        options=[
            Option(
                f"{tuple(padding_mask(IDS).shape)}",
                True,
                "The batch comes first and the keys last. The heads and the queries make no difference, so their axes "
                "have size 1.",
            ),
            Option(
                f"{tuple(IDS.shape)}",
                False,
                f"Shapes line up from the right, so this is read as (q_len, k_len). Here it is an error; in a batch of "
                f"{N_TOKENS} sentences it would pass in silence.",
            ),
            Option(
                f"{(BATCH, 1, N_TOKENS, 1)}",
                False,
                "This runs along the queries. The pads would see nothing, and real tokens would still attend to them.",
            ),
            Option(
                f"{(BATCH, N_TOKENS, 1, 1)}",
                False,
                f"This puts the tokens on the axis of the heads. Here it is an error; with {N_TOKENS} heads it would "
                "pass in silence.",
            ),
        ],
    ),
    Question(
        id="masks.empty_rows",
        text="Which of these can leave a row that sees nothing?",
        many=True,
        options=[
            Option(
                "padding on the left, together with the causal mask",
                True,
                "The first pad may look only at itself and at what comes before it, and it is itself a pad.",
            ),
            Option(
                "hiding pads both as keys and as queries",
                True,
                "Then the row of every pad is empty. It is enough to hide the pads as keys.",
            ),
            Option(
                "padding on the right, together with the causal mask",
                False,
                "Every row sees key 0, which is a real token unless the whole sentence is padding.",
            ),
            Option(
                "the causal mask alone",
                False,
                "The diagonal is kept, so each row sees at least itself.",
            ),
        ],
    ),
    Question(
        id="masks.right_padding",
        text="A decoder uses the causal mask alone on sentences that are padded on the right. How do the pads change "
        "the outputs at real tokens?",
        options=[
            Option(
                "not at all, because all of them come later",
                True,
                "So the causal mask already hides every pad from every real token, in every layer. Left padding needs "
                "the padding mask as well.",
            ),
            Option(
                "only at the last real token",
                False,
                "The causal mask ends at the token itself. The next position is hidden, whatever stands there.",
            ),
            Option(
                "a little everywhere, because pads count in the softmax's sum",
                False,
                "Hidden keys drop out of the sum, and the causal mask hides every later position.",
            ),
            Option(
                "only from the second layer on, where pads have mixed with words",
                False,
                "Pads do read the words before them, but no real token can read a pad, in any layer.",
            ),
        ],
    ),
    Question(
        id="masks.floor",
        text=f"A model without a mask is trained on sentences of {SEQ_LEN} tokens, drawn at random from {N_WORDS} "
        "words. It learns to copy its right neighbor. Which loss does it approach in a long training?",
        options=[
            Option(
                f"{math.log(N_WORDS) / SEQ_LEN:.2f}",
                True,
                f"Only the last position has no neighbor to copy. It pays ln {N_WORDS} at best, the others pay almost "
                f"nothing, and the loss is the mean over {SEQ_LEN} positions.",
            ),
            Option(
                f"{math.log(N_WORDS):.2f}",
                False,
                f"That is ln {N_WORDS}, the floor of a model that cannot see its right neighbor.",
            ),
            Option(
                f"{0:.2f}",
                False,
                "The target of the last position is not in the input, so there it has nothing to copy.",
            ),
            Option(
                f"{1 / N_WORDS:.2f}",
                False,
                f"1/{N_WORDS} is the probability of each word. The loss is its negative logarithm, and only the last "
                "position pays it.",
            ),
        ],
    ),
    Question(
        id="masks.probe",
        text="A decoder combines `tril(1)` with a correct padding mask. Which check finds the mistake without any "
        "training?",
        options=[
            Option(
                "the leak probe",
                True,
                "It edits one token after the other, and output t moves when token t + 1 is edited.",
            ),
            Option(
                "the pad probe",
                False,
                "It appends pads, and the padding mask hides those, so no output at a real token moves.",
            ),
            Option(
                "the random-token floor",
                False,
                "It finds the leak too, but in the loss, so the model has to be trained first.",
            ),
            Option(
                "a test of the output's shape",
                False,
                "A mask changes no shape, which is why its mistakes are silent.",
            ),
        ],
    ),
    Question(
        id="masks.cross",
        text="Which mask belongs in cross-attention, where the target attends to the source?",
        options=[
            Option(
                "the source's padding mask",
                True,
                "The source is complete, so every target token may see all of it except its pads, which are keys here.",
            ),
            Option(
                "the causal mask of the target",
                False,
                "It says which *target* tokens come later. Here it would let the first target token see only the first "
                "source token.",
            ),
            Option(
                "the padding mask of the target",
                False,
                "The target's tokens are the queries here, and pads are hidden as keys.",
            ),
            Option(
                "no mask at all",
                False,
                "Then the translation of a sentence depends on how many pads its batch adds to it.",
            ),
        ],
    ),
    Question(
        id="masks.predict_left",
        text="Which of the four masks pass the leak probe, the pad probe on the right, and the pad probe on the left?",
        options=[
            Option(
                "both masks together, because each hides what the other one shows",
                False,
                "Together they hide the future and the pads. But pads on the left also push the words to other "
                "positions, and no mask can undo that.",
            ),
            Option(
                "the causal mask and both masks together",
                False,
                "With pads on the left the causal mask alone shows each word the pads that come before it.",
            ),
            Option(
                "none of the four",
                True,
                "Pads on the left also push the words to other positions, and no mask can move them back.",
            ),
            Option(
                "the padding mask alone, since all pads are hidden by it",
                False,
                "It hides every pad and shows the whole future, so the leak probe fails.",
            ),
        ],
    ),
]
