"""Questions of chapter 09, the encoder."""

import torch

from course_lib.encoder import EncoderLayer
from course_lib.stored import results
from course_practice.quizzes.engine import Option, Question

W_1, B_1 = torch.tensor([[1.0, 1.0], [1.0, 1.0]]), torch.tensor([0.0, -1.0])
W_2 = torch.tensor([[1.0, 0.0], [-2.0, 1.0]])
TOKEN = torch.tensor([-3.0, 1.0])
D_MODEL, D_FF = 512, 2048


def _network(activation):
    return _numbers(activation(TOKEN @ W_1 + B_1) @ W_2)


def _numbers(vector):
    return "(" + ", ".join(f"{number + 0.0:g}".replace("-", "−") for number in vector.tolist()) + ")"


def _share(d_model, d_ff):
    layer = EncoderLayer(d_model, 1, d_ff)
    network = sum(p.numel() for p in layer.feed_forward.parameters())
    return f"about {network / sum(p.numel() for p in layer.parameters()):.0%}"


def _shares(model, where):
    row = next(row for row in results("encoder_alone")["rows"] if row["model"] == model)
    return sorted(run["share"] for run in row[where])


ALONE, AMONG = _shares("attention", "alone"), _shares("attention", "in a sentence")

QUESTIONS = [
    Question(
        id="encoder.by_hand",
        text=f"The network by hand of this chapter (W_1 all ones, b_1 = (0, −1), W_2 with the rows (1, 0) and (−2, 1)) "
        f"gets the token {_numbers(TOKEN)}. What does it return?",
        options=[
            Option(
                _network(torch.relu),
                True,
                "Both hidden features are negative, −2 and −3, so ReLU sets both to 0.",
            ),
            Option(
                _network(lambda h: h),
                False,
                "That is the output without the ReLU: (−2) · 1 + (−3) · (−2) = 4, and (−3) · 1 = −3.",
            ),
            Option(
                _numbers((TOKEN.relu() @ W_1 + B_1).relu() @ W_2),
                False,
                "Here the ReLU acted on the token itself, (0, 1). It acts on the hidden features.",
            ),
            Option(
                _numbers(torch.relu((TOKEN @ W_1 + B_1) @ W_2)),
                False,
                "Here the ReLU acted on the output. It acts on the hidden features, before W_2.",
            ),
        ],
    ),
    Question(
        id="encoder.no_activation",
        text="A colleague forgets the activation and widens d_ff from 2,048 to 8,192 to make up for it. What can the "
        "wider network compute that the narrow one could not?",
        options=[
            Option(
                "nothing",
                True,
                "Both are one matrix of d_model × d_model and one bias, whatever the width inside.",
            ),
            Option(
                "four times as many creases",
                False,
                "A crease is where a hidden feature is cut at zero. Without an activation there is none.",
            ),
            Option(
                "matrices of a higher rank",
                False,
                "W_1 W_2 has the rank d_model at most, and 2,048 hidden features already allow for that.",
            ),
            Option(
                "products of two features of the token",
                False,
                "A product of features is not linear, and a chain of linear layers is.",
            ),
        ],
    ),
    Question(
        id="encoder.position_wise",
        text="You edit token 3 of a sentence. Which outputs of one encoder layer can move, and which outputs of its "
        "feed-forward network alone?",
        options=[
            Option(
                "all outputs of the layer; only output 3 of the network",
                True,
                "Attention carries the edit to every query. The network looks at one position at a time.",
            ),
            Option(
                "all outputs, both times",
                False,
                "The network uses the same weights for all positions, but it reads one position at a time.",
            ),
            Option(
                "outputs 3 and later of the layer; only output 3 of the network",
                False,
                "That would be a layer with a causal mask. An encoder sees both sides.",
            ),
            Option(
                "only output 3, both times, because of the residual sum",
                False,
                "The residual sum keeps each token's own vector, and attention adds what it has read from the others.",
            ),
        ],
    ),
    Question(
        id="encoder.parameters",
        text=f"d_model is {D_MODEL} and d_ff is {D_FF:,}. Which share of a layer's parameters is in its feed-forward "
        "network?",
        options=[
            Option(
                _share(D_MODEL, D_FF),
                True,
                "2 · d_model · d_ff is eight times d_model², against four times d_model² in attention.",
            ),
            Option(
                _share(D_MODEL, D_MODEL),
                False,
                "That holds for d_ff = d_model: two square matrices against four.",
            ),
            Option(
                "about 50%",
                False,
                "Each of its two matrices is as large as all four of attention together.",
            ),
            Option(
                _share(D_MODEL, 2 * D_FF),
                False,
                "That would take a d_ff eight times as wide as d_model.",
            ),
        ],
    ),
    Question(
        id="encoder.swap_layers",
        text="A stack was made with `nn.TransformerEncoder(layer, 6)` and is not trained yet. A test puts it into "
        "evaluation mode and swaps its first and its last layer. Does the output change?",
        options=[
            Option(
                "no, because all six layers hold the same numbers",
                True,
                "PyTorch copies the layer it is given. The copies move apart in training only.",
            ),
            Option(
                "yes, because each layer was drawn anew",
                False,
                "That is how this course's `Encoder` does it. PyTorch makes deep copies of one layer.",
            ),
            Option(
                "yes, because the first layer sees the embeddings",
                False,
                "The layer in first place does, but layers with the same numbers do the same there.",
            ),
            Option(
                "no, because layers of a stack can always be swapped",
                False,
                "Once they have different weights, their order matters.",
            ),
        ],
    ),
    Question(
        id="encoder.dropout",
        text="In training, dropout with p = 1 replaces everything it acts on by zeros. What comes out of a *pre-norm* "
        "layer?",
        options=[
            Option(
                "its input x, unchanged",
                True,
                "Dropout acts on what the two parts return, and x + 0 + 0 = x. In pre-norm nothing else touches the "
                "stream.",
            ),
            Option(
                "zeros",
                False,
                "Dropout never acts on the sum, so the stream survives.",
            ),
            Option(
                "its input, normalized",
                False,
                "That is post-norm, where the norm stands on the stream. In pre-norm it stands in the branch.",
            ),
            Option(
                "the biases of the second linear layer and of W_O",
                False,
                "Dropout comes after these layers, so their biases are dropped with the rest.",
            ),
        ],
    ),
    Question(
        id="encoder.mean_over_pads",
        text="A classifier passes the padding mask to each layer and then uses `hidden.mean(dim=1)`. The same sentence "
        "gets one label in a batch of short sentences and another in a batch of long ones. Why?",
        options=[
            Option(
                "The outputs at the pads are part of the mean.",
                True,
                "The mask hides pads as keys. They are still queries, so each has an output, and there are more of "
                "them in a batch of long sentences.",
            ),
            Option(
                "The words attend to the other sentences of the batch.",
                False,
                "Attention never leaves its own sentence. What a batch changes is the number of pads.",
            ),
            Option(
                "The norm computes its mean over the whole batch.",
                False,
                "A layer norm looks at the features of one token. A batch norm would do this.",
            ),
            Option(
                "The mask was applied before the softmax and not after it.",
                False,
                "Before is right. The weights on pads are exactly 0 then.",
            ),
        ],
    ),
    Question(
        id="encoder.loss_falls",
        text="An encoder with `self.layers = [EncoderLayer(…) for _ in range(6)]` trains, and its loss falls. What "
        "has it learned?",
        options=[
            Option(
                "the embedding and the output layer, around six random layers",
                True,
                "The optimizer gets only registered parameters, and a Python list registers none.",
            ),
            Option(
                "six layers, but they will be lost when the model is saved",
                False,
                "They are missing from the saved file, and from `parameters()` as well, so they did not learn.",
            ),
            Option(
                "one layer, which is used six times",
                False,
                "That is `[layer] * 6`. Here six layers are made.",
            ),
            Option(
                "nothing, since gradients stop at a list",
                False,
                "Gradients pass through the layers to the embedding. The layers are just never updated.",
            ),
        ],
    ),
    # Predictions, asked in the chapter before the cell that answers them.
    Question(
        id="encoder.guess_alone",
        guess=True,
        text="What share of the labels does attention name, for tokens that stand alone, and for tokens in a sentence "
        "of random words?",
        options=[
            Option(
                f"about {sum(ALONE) / 6:.0%} alone, and {min(AMONG):.0%} in a sentence",
                True,
                "Alone, its weight is always 1, so each logit is a sum of a word's number and a position's. Among "
                "other words the weights depend on the query.",
            ),
            Option(
                "everything alone, and less in a sentence",
                False,
                "The other words do not disturb it. And alone it has nothing that bends.",
            ),
            Option(
                "about 60% in both cases",
                False,
                "Right for tokens alone. In a sentence the weights depend on the query, so the output bends.",
            ),
            Option(
                "everything in both cases, since word and position are in the token",
                False,
                "The information is there. Alone, each logit is a sum of a word's number and a position's, and a "
                "random table is no such sum.",
            ),
        ],
    ),
    Question(
        id="encoder.guess_scale",
        guess=True,
        text="What does the factor √d_model do on this task?",
        options=[
            Option(
                "It helps, because words should be as loud as positions.",
                False,
                "Measured, it is the other way round: louder words do worse here. The controls below tell more.",
            ),
            Option(
                "It makes no difference, since the norm comes first.",
                False,
                "The norm takes away the length of the sum, not the ratio of its two terms.",
            ),
            Option(
                "It hurts.",
                True,
                "With the factor the words are louder than the positions. The controls below show that the ratio "
                "counts.",
            ),
            Option(
                "It makes the training diverge.",
                False,
                "It trains, only less well. A layer that begins with a norm is not disturbed by vectors of length 6.",
            ),
        ],
    ),
]
