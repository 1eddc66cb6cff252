"""Questions of chapter 11, the Transformer."""

import math

from course_lib.transformer import TransformerConfig, parameter_count
from course_practice.quizzes.engine import Option, Question

WORDS, D_MODEL = 34, 32
PAIRS, LENGTH = 8, 7
STUCK = math.log(PAIRS) / LENGTH
SMALL = TransformerConfig(vocab_size=1000, d_model=64, n_heads=4, d_ff=256, n_layers=2)


def _count(**changes):
    return parameter_count(TransformerConfig(**(vars(SMALL) | changes)))


QUESTIONS = [
    Question(
        id="transformer.guess_own",
        text="The colleague's machine has less than half the loss of the library's. Which of the two writes more whole "
        "sentences right from its own words?",
        guess=True,
        options=[
            Option(
                "the colleague's, since its loss is lower",
                False,
                "The loss was measured with the right words before each position. From its own words this machine gets "
                "at most a third of the sentences right.",
            ),
            Option(
                "the library's, by far",
                True,
                "It writes nearly all of them. The other machine predicts well only after the right words.",
            ),
            Option(
                "both nearly all of them",
                False,
                "A low loss makes one expect that. For the library's machine it is true, for the colleague's not.",
            ),
        ],
    ),
    Question(
        id="transformer.guess_rows",
        text="A vocabulary of 100 words, a sentence with three words in the decoder. How many rows of the target "
        "embedding get a gradient, untied and tied?",
        guess=True,
        options=[
            Option(
                "3 and 100",
                True,
                "Untied, only the rows that were looked up. Tied, the output layer uses all of them.",
            ),
            Option("3 and 3", False, "That leaves out the output layer, which multiplies with every row."),
            Option("3 and 7", False, "That counts the words that were read on both sides. The output layer uses all."),
            Option(
                "100 and 100", False, "Untied, the embedding is a look-up: a row that was not read has no gradient."
            ),
        ],
    ),
    Question(
        id="transformer.guess_stuck",
        text=f"One batch of {PAIRS} pairs, random targets of {LENGTH - 1} words and EOS. The decoder cannot see the "
        "source. At which loss a token does it get stuck?",
        guess=True,
        options=[
            Option(
                f"ln 15 = {math.log(15):.2f}",
                False,
                "That would be the loss of a machine that knows nothing of the batch. It may learn the eight targets "
                "by heart.",
            ),
            Option(
                f"ln {PAIRS} / {LENGTH} = {STUCK:.2f}",
                True,
                f"It has to guess once which of {PAIRS} targets is wanted. After the first words it knows.",
            ),
            Option(
                "near 0",
                False,
                "It can learn the targets by heart, but before the first word nothing says which one is wanted.",
            ),
            Option(
                f"ln {PAIRS} = {math.log(PAIRS):.2f}",
                False,
                "That is the price of a whole sentence. The loss is a mean over its tokens, and most of them are free.",
            ),
        ],
    ),
    Question(
        id="transformer.heads_in_the_count",
        text="You double the number of heads and leave d_model and everything else as it was. What happens to the "
        "number of parameters?",
        options=[
            Option("It stays the same.", True, "The heads share d_model among themselves: each becomes half as wide."),
            Option("It doubles.", False, "The matrices stay d_model × d_model: twice the heads, each half as wide."),
            Option(
                "The attention's part doubles, the rest stays.",
                False,
                "W_Q, W_K, W_V, and W_O are d_model × d_model for any number of heads.",
            ),
            Option("Only W_O grows.", False, "W_O takes all heads side by side, and together they are d_model wide."),
        ],
    ),
    Question(
        id="transformer.masks",
        text="In which attentions does the source's padding mask belong?",
        options=[
            Option(
                "in the encoder's alone", False, "The cross-attention's keys are the source's tokens, pads included."
            ),
            Option("in the cross-attention alone", False, "The encoder's tokens would mix with the source's pads."),
            Option(
                "in the encoder's and in the cross-attention",
                True,
                "In both, the keys are tokens of the source.",
            ),
            Option("in all three", False, "The decoder's self-attention has the target's tokens as its keys."),
        ],
    ),
    Question(
        id="transformer.low_loss",
        text="A machine's validation loss is excellent, and what it writes is nonsense from the second word on. Which "
        "probe do you run first?",
        options=[
            Option(
                "steps: one pass against one for each prefix",
                True,
                "In training it gets whole targets, in use prefixes. If the two give other numbers, something looks "
                "at the whole target, such as a mask or a norm over time.",
            ),
            Option(
                "the count of its parameters",
                False,
                "A count finds a matrix too many. It says nothing about what an output sees.",
            ),
            Option(
                "overfitting one batch",
                False,
                "The machine learns well, as its loss shows. It would pass.",
            ),
            Option(
                "pads behind the source",
                False,
                "They would matter if sources of other lengths went wrong. Here already the same sources do.",
            ),
        ],
    ),
    Question(
        id="transformer.overfit",
        text="Which of these mistakes does overfitting one batch find?",
        options=[
            Option("a causal mask in the encoder", False, "The batch can be learned by heart all the same."),
            Option("a target that leaks", False, "A leak makes the loss fall even faster."),
            Option("pads of the source that are not hidden", False, "The same pads are there in each update."),
            Option(
                "a decoder that never gets the memory",
                True,
                "Then the target's first word has to be guessed, and the loss gets stuck above 0.",
            ),
        ],
    ),
    Question(
        id="transformer.count_off",
        text=f"A machine with {WORDS} words and d_model = {D_MODEL} has {WORDS * D_MODEL:,} parameters more than the "
        "formula says. What is the likely mistake?",
        options=[
            Option("a layer too many", False, "Even the smallest layer has more than 4 · d_model² = 4,096 numbers."),
            Option(
                f"a matrix of {WORDS} × {D_MODEL} that should be shared",
                True,
                "That is one embedding: somewhere it was copied instead of tied.",
            ),
            Option("norms behind both stacks", False, f"They would add 2 · 2 · {D_MODEL} = {4 * D_MODEL} numbers."),
            Option("an output layer with a bias", False, f"It would add one number for each word, {WORDS}."),
        ],
    ),
    Question(
        id="transformer.first_loss",
        text="Before the first update, a model with 1,000 words has a loss of 25. A blind guess costs ln 1,000 = 6.9. "
        "What is most likely?",
        options=[
            Option(
                "Its fresh logits are far too large.",
                True,
                "It is sure of wrong words. A tied embedding with a standard deviation of 1 does this.",
            ),
            Option(
                "It has not learned anything yet.", False, "Then its loss should be about 6.9, that of a blind guess."
            ),
            Option(
                "It sees its targets.",
                False,
                "A leak has to be learned first, and then it makes the loss smaller, not larger.",
            ),
            Option(
                "It has too few parameters for 1,000 words.",
                False,
                "Size decides how far the loss can fall, and not where an untrained model begins.",
            ),
        ],
    ),
    Question(
        id="transformer.which_probe",
        text="The encoder has a causal mask by mistake. Which probe finds it?",
        options=[
            Option("the leak probe on the target", False, "The decoder is right: no later target word leaks."),
            Option("pads behind the source", False, "With the padding mask beside it, pads still change nothing."),
            Option("the count", False, "A mask has no parameters."),
            Option(
                "the reach of the encoder",
                True,
                "Its first vector does not move when the last word is edited: a cell is 0 that should not be.",
            ),
        ],
    ),
    Question(
        id="transformer.untied",
        text="V = 1,000 words, d_model = 64, and the machine has "
        f"{_count():,} parameters with tied matrices. How many has it untied?",
        options=[
            Option(
                f"{_count(tied=False):,}",
                True,
                "Three matrices of 1,000 × 64 instead of one: 128,000 more.",
            ),
            Option(f"{_count() + 64_000:,}", False, "That adds one matrix. Untied there are three: two more."),
            Option(f"{_count() + 192_000:,}", False, "That adds three. One of them was there already."),
            Option(f"{3 * _count():,}", False, "Only the words' matrix exists three times, the layers do not."),
        ],
    ),
]
