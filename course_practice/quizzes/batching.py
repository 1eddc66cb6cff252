"""Questions of chapter 13, batching."""

from course_lib.batching import buckets
from course_practice.quizzes.engine import Option, Question

SHORT, LONG = (2, 1.0), (6, 3.0)  # tokens of a sentence, and bits each of them costs


def _all_positions():
    return sum(n * bits for n, bits in (SHORT, LONG)) / (2 * LONG[0])


def _of_means():
    return (SHORT[1] + LONG[1]) / 2


def _per_token():
    return sum(n * bits for n, bits in (SHORT, LONG)) / (SHORT[0] + LONG[0])


def _bits(number):
    return f"{number:.3g} bits"


QUESTIONS = [
    Question(
        id="batching.guess_rows",
        text="The same model, the same 500 sentences. What happens to the loss when more stand in a batch?",
        guess=True,
        options=[
            Option(
                "it falls",
                True,
                "With more sentences in a batch there are more pads, and a pad costs this model nothing.",
            ),
            Option("it rises", False, "It would, if the model had never learned to write pads."),
            Option(
                "it stays the same, as the model and the text do",
                False,
                "The sum over the real tokens does stay the same, but it is divided by the number of all positions.",
            ),
            Option(
                "it goes up and down by chance",
                False,
                "Nothing here is drawn by chance: the sentences keep their order.",
            ),
        ],
    ),
    Question(
        id="batching.guess_share",
        text="Targets have 16.5 tokens on average, and most of them have between 10 and 23. How much of a random "
        "batch of 64 is padding?",
        guess=True,
        options=[
            Option("about a half", True, "The longest of 64 sentences is about twice as long as the average."),
            Option("about a tenth", False, "That is what sorting by length can reach."),
            Option(
                "about a quarter",
                False,
                "Then the longest sentence would have 22 tokens. Among 64 there is nearly always a longer one.",
            ),
            Option(
                "about three quarters", False, "Then the longest sentence would be four times as long as the average."
            ),
        ],
    ),
    Question(
        id="batching.guess_third",
        text="Every epoch goes from short sentences to long ones. On which third does the model lose most, compared "
        "with random batches?",
        guess=True,
        options=[
            Option("the short ones", True, "They come first in each epoch, so they were seen longest ago."),
            Option("the long ones", False, "They come last in each epoch, so they were seen most recently."),
            Option(
                "the middle ones",
                False,
                "Half an epoch has passed since they were seen, but for the short ones nearly a whole one.",
            ),
            Option("none: it is about equal on all", False, "The order leaves a clear trace in the three thirds."),
        ],
    ),
    Question(
        id="batching.loss_by_hand",
        text="One sentence has 2 tokens of 1 bit each, another 6 tokens of 3 bits each. What is the loss per token?",
        options=[
            Option(
                _bits(_per_token()),
                True,
                "20 bits in all, over 8 tokens: every token counts alike, and no pad counts.",
            ),
            Option(
                _bits(_of_means()),
                False,
                "That is the mean of the two sentences' means. It counts a token of the "
                "short sentence three times as much.",
            ),
            Option(
                _bits(_all_positions()), False, "That divides by 12 positions, of which 4 are pads that cost nothing."
            ),
            Option("10 bits", False, "That is the loss per sentence: 20 bits over 2 sentences."),
        ],
    ),
    Question(
        id="batching.other_rows",
        text="A script evaluates a model after `model.eval()`. With 64 sentences in a batch it reports a loss of 1.7, "
        "and with 8 it reports 2.4 for the same model and the same sentences. What do you look at first?",
        options=[
            Option(
                "whether pads are part of the mean",
                True,
                "A loss over real tokens hardly depends on the batches. A loss over all positions does, by this much.",
            ),
            Option(
                "whether dropout was still on",
                False,
                "`model.eval()` turns it off.",
            ),
            Option(
                "whether the sentences were sorted by their length",
                False,
                "Sorting changes the number of pads, and this matters only if pads are counted.",
            ),
            Option(
                "whether 8 sentences are too few for a stable mean",
                False,
                "Both means go over the same sentences.",
            ),
        ],
    ),
    Question(
        id="batching.budget",
        text="Sentences have the lengths 2, 6, 3, 6, 2, 3, and a batch may have 12 positions. How many batches does "
        "filling from short to long make?",
        options=[
            Option(
                str(len(buckets([2, 6, 3, 6, 2, 3], 12))),
                True,
                "2, 2, 3, 3 take 4 × 3 = 12 positions, and 6, 6 take 2 × 6 = 12.",
            ),
            Option("3", False, "Equal lengths alone would make three. But 2, 2, 3, 3 fit together: 4 × 3 = 12."),
            Option("4", False, "That wastes half of the budget. Count rows × longest for 2, 2, 3, 3."),
            Option("1", False, "All six together would take 6 × 6 = 36 positions."),
        ],
    ),
    Question(
        id="batching.one_long",
        text="A random batch has 63 sentences of 8 tokens and one of 200. What is the cheapest remedy?",
        options=[
            Option(
                "put sentences of similar length together",
                True,
                "Alone or among other long ones, the long sentence makes no short one longer.",
            ),
            Option(
                "mask the pads in every layer",
                False,
                "The positions are still computed.",
            ),
            Option(
                "leave the pads out of the loss",
                False,
                "The layers still run over every position.",
            ),
            Option(
                "cut all sentences to 8 tokens",
                False,
                "This saves most, but it loses 192 tokens and the end of the sentence.",
            ),
        ],
    ),
    Question(
        id="batching.never_stops",
        text="A translator does not stop. Its targets were padded first, and then EOS was appended to the padded rows. "
        "What has it learned?",
        options=[
            Option(
                "that EOS follows pads",
                True,
                "In most rows a pad stood behind the last word, and EOS behind the last pad. The loss leaves "
                "pads out, so the model has never learned what follows the last word.",
            ),
            Option(
                "that every sentence is as long as the longest",
                False,
                "It sees which token follows which, but not how long the other sentences of its batch are.",
            ),
            Option(
                "nothing, because EOS is left out of the loss",
                False,
                "Only PAD is left out. EOS is a token like any other in the target.",
            ),
            Option("to write EOS too early", False, "Then its sentences would be too short."),
        ],
    ),
    Question(
        id="batching.accumulate",
        text="To save memory, you cut a batch into four, take the mean loss of each, and average the four gradients. "
        "When is this the gradient of the whole batch?",
        options=[
            Option(
                "when the four have equally many real tokens",
                True,
                "Then each mean has the same divisor. Otherwise add up the sums, and divide once by all the tokens.",
            ),
            Option(
                "always, since a gradient is linear",
                False,
                "It is linear, but the four means are divided by different numbers of tokens.",
            ),
            Option(
                "when the four have equally many rows",
                False,
                "Equally many rows can hold very different numbers of tokens, above all when they are sorted.",
            ),
            Option(
                "never, since pads differ",
                False,
                "Pads that are left out change nothing. What matters is how many tokens are real.",
            ),
        ],
    ),
    Question(
        id="batching.shuffle_after",
        text="You sort all pairs by length once, cut them into batches, and shuffle the list of batches before each "
        "epoch. What does this not do?",
        options=[
            Option(
                "let other sentences meet",
                True,
                "The batches are the same in each epoch. Shuffle before you sort as well.",
            ),
            Option("save padding", False, "It does, as much as any other order of these batches."),
            Option(
                "keep the epoch from going from short to long",
                False,
                "The shuffle of the list does that: short and long batches come in any order.",
            ),
            Option("use every sentence once", False, "Each sentence is in one batch, and each batch comes once."),
        ],
    ),
]
