"""Questions of chapter 08, layer normalization."""

import torch
from torch.nn import functional as F

from course_practice.quizzes.engine import Option, Question

TOKEN = torch.tensor([0.0, 0.0, 6.0, 6.0])


def _row(numbers):
    return "(" + ", ".join(f"{number:g}".replace("-", "−") for number in numbers.round(decimals=2).tolist()) + ")"


NORMALIZED = F.layer_norm(TOKEN, [4], eps=0.0)

QUESTIONS = [
    Question(
        id="layer_norm.guess_two_layers",
        text="One plain layer reverses nearly all symbols after 200 updates. What is the accuracy of two plain layers "
        "after as many?",
        guess=True,
        options=[
            Option(
                "0.3",
                True,
                "The second layer does harm. Two layers learn much more slowly than one, and four hardly at all.",
            ),
            Option(
                "1.0, since the second layer can simply hand on",
                False,
                "It could, if it found the weights for that. Nothing makes it start there, and 200 updates do not "
                "lead it there.",
            ),
            Option(
                "0.1, a blind guess",
                False,
                "It is not as bad as that with two layers. Four layers come close.",
            ),
        ],
    ),
    Question(
        id="layer_norm.guess_size",
        text="The matrices are √3 times as large, and there are 32 sublayers. The size at the end was 4. What is it "
        "now?",
        guess=True,
        options=[
            Option(
                "about 3,000",
                True,
                "What a sublayer adds is proportional to the stream that it reads, so the factors multiply.",
            ),
            Option(
                "about 7, √3 times as much",
                False,
                "That would be so if only one sublayer had larger weights. There are 32, one after the other.",
            ),
            Option(
                "about 40",
                False,
                "Thirty-two sublayers that each multiply by a little more than before make a much larger factor.",
            ),
        ],
    ),
    Question(
        id="layer_norm.by_hand",
        text="What is the layer norm of the token (0, 0, 6, 6), with gain 1, bias 0, and a tiny ε?",
        options=[
            Option(_row(NORMALIZED), True, "The mean is 3 and the variance (9 + 9 + 9 + 9) / 4 = 9, so its root is 3."),
            Option(
                _row(F.normalize(TOKEN - 3, dim=0)),
                False,
                "This vector has length 1. A layer norm divides by the root of the mean square, so its result has "
                "length √4 = 2.",
            ),
            Option(
                _row((TOKEN - 3) / TOKEN.std()),
                False,
                "Here the variance was divided by d − 1 = 3, as PyTorch's `std` does unless told otherwise.",
            ),
            Option(
                _row((TOKEN - 3) / 9),
                False,
                "This is divided by the variance, 9. The root is missing.",
            ),
        ],
    ),
    Question(
        id="layer_norm.scaled",
        text="A token x becomes y in a layer norm without gain and bias. What becomes of 3x − 7?",
        options=[
            Option("y", True, "Subtracting the mean takes the −7 away, and dividing by the size takes the 3 away."),
            Option("3y", False, "The standard deviation of 3x is three times that of x, so the 3 cancels."),
            Option("3y − 7", False, "Neither survives: the mean of the token and its size are both taken away."),
            Option("y − 7", False, "The 7 is part of the token's mean, which is subtracted."),
        ],
    ),
    Question(
        id="layer_norm.what_moves",
        text="You edit one token of one sentence in a batch and apply a layer norm. Which outputs change?",
        options=[
            Option("that token's alone", True, "Mean and variance run over the features of one token."),
            Option(
                "those of all tokens in its sentence",
                False,
                "That would be a norm over tokens and features, which leaks: `nn.LayerNorm([seq_len, d_model])`.",
            ),
            Option(
                "those of all tokens in the batch",
                False,
                "That is what a batch norm does in training.",
            ),
            Option(
                "those at the same position, in every sentence",
                False,
                "That would be a mean over the batch axis. A layer norm never looks at another sentence.",
            ),
        ],
    ),
    Question(
        id="layer_norm.equal_tokens",
        text="Attention without a residual has made all tokens of a sentence equal. You add layer norms after every "
        "sublayer that follows. What do they change?",
        options=[
            Option(
                "They keep the size in range, but the tokens stay equal.",
                True,
                "Each token is normalized by the same formula from its own numbers, so equal tokens stay equal.",
            ),
            Option(
                "They spread the tokens apart again, because each gets variance 1.",
                False,
                "The variance is that of the features within one token. It says nothing about how tokens differ.",
            ),
            Option(
                "They set all tokens to zero.",
                False,
                "That would happen to a token whose *features* are all equal. Here the tokens are equal to each other.",
            ),
        ],
    ),
    Question(
        id="layer_norm.width",
        text="A colleague's layer norm uses `x.std(dim=-1)`. A test with d = 512 compares it with PyTorch's "
        "to a tolerance of 0.01, and passes. What would have found the mistake?",
        options=[
            Option(
                "a test with d = 4",
                True,
                "The outputs are too small by √((d − 1)/d): 0.1% at d = 512, and 13% at d = 4.",
            ),
            Option(
                "a test with more tokens",
                False,
                "The mistake is the same for every token, whether there are two of them or a million.",
            ),
            Option(
                "a test with larger numbers, such as 1,000 times x",
                False,
                "Both divide by the size, so the factor cancels and the relative error is the same.",
            ),
            Option(
                "a test whether the mean of each output is 0",
                False,
                "It is 0 here, too. Only the size is wrong.",
            ),
        ],
    ),
    Question(
        id="layer_norm.silent",
        text="A block of a pre-norm stack has a sublayer that returns zeros, and yet its output differs from its "
        "input. What is the likely bug?",
        options=[
            Option(
                "It adds the normalized x.",
                True,
                "`x = norm(x); x = x + f(x)` normalizes the stream itself. Only what f reads may be normalized.",
            ),
            Option(
                "It has no residual.",
                False,
                "Then the output would be zeros. It does differ from the input, but the next block would see nothing "
                "at all, and you would notice at once.",
            ),
            Option(
                "Its norm divides by d − 1.",
                False,
                "In pre-norm nothing of the norm reaches the output when f returns zeros.",
            ),
        ],
    ),
    Question(
        id="layer_norm.batch_norm_modes",
        text="You replace the layer norms of a causal language model by batch norms. In evaluation mode, leak probe "
        "and pad probe pass. What follows?",
        options=[
            Option(
                "Nothing about training, where both can fail.",
                True,
                "In evaluation a batch norm uses stored statistics. In training it computes them from the batch, pads "
                "and later words included.",
            ),
            Option(
                "The replacement is sound, since both probes pass.",
                False,
                "A probe that passes has shown only what it tried. Try it in training mode as well, with dropout set "
                "to 0.",
            ),
            Option(
                "The probes are broken, because a batch norm always leaks.",
                False,
                "In evaluation it does not: its statistics are fixed numbers that no token can change.",
            ),
        ],
    ),
    Question(
        id="layer_norm.growing_logits",
        text="A pre-norm model of 12 layers trains well. With 48 layers, its first logits are about twice as large. "
        "Which line was probably forgotten?",
        options=[
            Option(
                "the norm after the last layer",
                True,
                "The pre-norm stream grows with depth, roughly with the root of the number of layers. One last norm "
                "makes the logits independent of it.",
            ),
            Option(
                "the norm before the first layer",
                False,
                "Every pre-norm sublayer normalizes what it reads, so the first one does, too.",
            ),
            Option(
                "the residual around the attention",
                False,
                "Without residuals the stream would not grow: nothing would be added up.",
            ),
            Option(
                "ε in the norms",
                False,
                "ε matters where a token is nearly constant. It has nothing to do with depth.",
            ),
        ],
    ),
    Question(
        id="layer_norm.without_norm",
        text="Which of these stacks of six layers, with Xavier's weights, learned this chapter's task in 150 updates "
        "at some rate?",
        many=True,
        options=[
            Option(
                "pre-norm",
                True,
                "At the rates 0.003 and 0.01 it did, with every seed.",
            ),
            Option(
                "no norm, every sublayer times a trained γ that starts at 0",
                True,
                "A branch that starts at zero keeps the tokens different and the size in range, without a norm.",
            ),
            Option(
                "residuals alone",
                False,
                "With PyTorch's smaller weights they do. With Xavier's they did not at any of five rates.",
            ),
            Option(
                "post-norm",
                False,
                "After 150 updates it was still on a plateau, at a loss near 1.7. It needs more of them.",
            ),
        ],
    ),
]
