"""Questions of chapter 19, the cost."""

from course_practice.quizzes.engine import Option, Question


def _layer(n, d, d_ff):
    """Operations of an encoder layer: all, and those of scores and weighted means."""
    inside = 4 * n * n * d
    return 8 * n * d * d + 4 * n * d * d_ff + inside, inside


def _share(n, d):
    total, inside = _layer(n, d, 4 * d)
    return f"{inside / total:.0%}".replace("%", " %")


def _table(h, n):
    return f"{4 * h * n * n / 2**30:g} GiB"


def _cache(layers, heads, d_k, n):
    return f"{2 * 2 * layers * heads * d_k * n / 2**30:g} GiB"


QUESTIONS = [
    Question(
        id="cost.where_equal",
        text="d = 512, d_ff = 4d: how many tokens has a text if its scores and means take as many operations as the "
        "matrices?",
        options=[
            Option(f"{6 * 512:,}", True, "8nd² + 16nd² = 4n²d gives n = 6d."),
            Option(f"{512:,}", False, "At n = d they take one seventh of the layer."),
            Option(
                f"{2 * 512:,}", False, "There they equal the four projections. The feed-forward network comes on top."
            ),
            Option(f"{4 * 512:,}", False, "There they equal the feed-forward network, without the projections."),
        ],
    ),
    Question(
        id="cost.memory_first",
        text="A base model (d = 512, 8 heads, plain attention) is trained on texts of 1,024 tokens instead of 512. "
        "What becomes a problem first?",
        options=[
            Option(
                "the memory for the weights",
                True,
                f"At 16 d_k = 1,024 tokens they take half of what is kept, but only {_share(1024, 512)} of the "
                f"operations.",
            ),
            Option("the operations of the scores", False, "They overtake the matrices at 6d = 3,072 tokens."),
            Option("the number of parameters", False, "It does not depend on the length."),
            Option(
                "the feed-forward network, whose features grow with the text",
                False,
                "It grows in proportion to the text, like everything but the table.",
            ),
        ],
    ),
    Question(
        id="cost.fused_work",
        text="Fused attention is said to make attention linear. What is true?",
        options=[
            Option(
                "Its memory grows as n, its operations as n².",
                True,
                "It never stores the table, but every query still meets every key.",
            ),
            Option(
                "Its memory and its operations grow as n.",
                False,
                "Then some queries would not meet some keys, and the output would change.",
            ),
            Option("Its operations grow as n, its memory as n².", False, "It is the other way round."),
            Option(
                "Both grow as n while the table fits into the cache.",
                False,
                "The number of operations does not depend on where the numbers lie.",
            ),
        ],
    ),
    Question(
        id="cost.cache_size",
        text="A model has 32 layers with 8 heads of keys and values, 128 wide, and 2 bytes a number. How large is "
        "its cache for one text of 8,192 tokens?",
        options=[
            Option(_cache(32, 8, 128, 8192), True, "2 · 32 · 8 · 128 · 8192 numbers of 2 bytes."),
            Option(_cache(32, 4, 128, 8192), False, "Keys *and* values are kept: twice as much."),
            Option(_cache(32, 32, 128, 8192), False, "This would be with 32 heads of keys and values."),
            Option(_table(64, 8192), False, "This is a table of weights, and a cache holds none."),
        ],
    ),
    Question(
        id="cost.blind_counter",
        text="A colleague counts the operations of a module with and without fused attention. The counter says that"
        " fusing saves a third. What do you reply?",
        options=[
            Option(
                "The counter does not see into the fused kernel.",
                True,
                "It counts the calls that it has a formula for, and for this one on a CPU it has none.",
            ),
            Option(
                "The fused kernel leaves out the keys with small weights.",
                False,
                "It leaves out none: its output is that of the plain function.",
            ),
            Option("Two thirds would be expected, so something is slow.", False, "No operations are saved at all."),
            Option(
                "Fusing merges the multiplications of scores and means.",
                False,
                "The two products have a softmax between them and cannot be merged.",
            ),
        ],
    ),
    Question(
        id="cost.weights_stand_still",
        text="A training in bfloat16 stands still at a small learning rate, and the same training under autocast "
        "does not. Where is the difference?",
        options=[
            Option(
                "in the weights",
                True,
                "Under autocast they stay in float32. In bfloat16 a step below 1/512 of a weight is rounded away.",
            ),
            Option("in the products", False, "Both take them in bfloat16."),
            Option(
                "in the range of the gradients, which bfloat16 cannot hold",
                False,
                "bfloat16 has the same range as float32. It has fewer digits.",
            ),
            Option("in the data", False, "Both see the same batches."),
        ],
    ),
    Question(
        id="cost.more_parameters",
        text="On a cluster, adding up the gradients takes as long as computing them. You take a model with twice as"
        " many parameters and leave the rest. What happens to the ratio of the two?",
        options=[
            Option("It stays the same.", True, "Both grow in proportion to the parameters: N cancels."),
            Option("Sending takes twice as long as computing.", False, "The computing doubles as well."),
            Option("Computing takes twice as long as sending.", False, "What is sent doubles as well."),
            Option(
                "It depends on how many processors there are in the ring.",
                False,
                "Each sends nearly twice its gradient, however many there are.",
            ),
        ],
    ),
    Question(
        id="cost.mean_of_means",
        text="Two processes give the same gradient as one in your test, but not in your training. In the test all "
        "sentences have the same length. Where do you look?",
        options=[
            Option(
                "at the number that each process divides its loss by",
                True,
                "With equally many tokens the mean of means is the mean. With sentences of different length it is not.",
            ),
            Option("at the seeds of the two processes", False, "Then the test would fail, too."),
            Option(
                "at the network between the processes, which loses numbers",
                False,
                "A lost message is an error, and not a slightly different gradient.",
            ),
            Option("at the learning rate", False, "It comes after the gradient, and it is the same in both."),
        ],
    ),
    Question(
        id="cost.guess_strips",
        text="The table does not fit into 1 GiB. What happens if the same function gets 128 queries at a time?",
        guess=True,
        options=[
            Option("it fits, and does the same operations", True, "A softmax needs one row, and no row needs another."),
            Option(
                "it does not fit either",
                False,
                "The output has no table in it, so no strip has to stay.",
            ),
            Option(
                "it fits, and does fewer operations",
                False,
                "Every query still meets every key. The order is all that changes.",
            ),
            Option(
                "it fits, but the output is not exact",
                False,
                "Each row is computed as before.",
            ),
        ],
    ),
    Question(
        id="cost.guess_model",
        text="In which of these models do scores and weighted means have the largest share of the operations, at 8,192 "
        "tokens?",
        guess=True,
        options=[
            Option("base, d = 512", True, "The matrices grow as d², the table as d: the share falls as d rises."),
            Option("405 B, d = 16,384", False, "It has the most operations, but not the largest share of them."),
            Option("8 B, d = 4,096", False, "Between the others: n is twice as large as d here."),
            Option("the same in all of them", False, "It would be if the matrices grew as d, too."),
        ],
    ),
    Question(
        id="cost.guess_lstm",
        text="Per token, an LSTM of d = 64 has a third more operations than a GRU. On our CPU, with 1,024 tokens, how "
        "long does it take?",
        guess=True,
        options=[
            Option(
                "a small fraction of the GRU's time", True, "PyTorch has one kernel for it, and a loop for the GRU."
            ),
            Option("about a third longer", False, "It would if both were computed in the same way."),
            Option("about as long as the GRU", False, "It would if the calls were all that costs, in both alike."),
            Option("several times as long", False, "Four matrices against three cannot give such a factor."),
        ],
    ),
    Question(
        id="cost.guess_vectors",
        text="One vector goes through a matrix of 8,192 × 8,192 numbers, and then 64 at once. How much longer does "
        "that take?",
        guess=True,
        options=[
            Option("between 3 and 20 times as long", True, "The matrix is read once, for all of the vectors."),
            Option("64 times as long", False, "It would if the arithmetic were what takes the time."),
            Option("exactly as long", False, "It would if reading were all. The arithmetic catches up on the way."),
            Option(
                "more than 64 times as long",
                False,
                "The vectors are small beside the matrix.",
            ),
        ],
    ),
    Question(
        id="cost.guess_halves",
        text="Two processes share eight sentences: one gets the short ones, the other the long ones. Each takes its"
        " mean loss, and DDP averages. How far is the gradient from that of one process?",
        guess=True,
        options=[
            Option("more than a tenth of its norm", True, "A token of the short half counts several times as much."),
            Option("nothing but rounding", False, "It would be if both halves had equally many tokens."),
            Option("about a thousandth", False, "The halves differ in their tokens by much more than that."),
            Option("exactly a half", False, "This comes out where the averaging is forgotten."),
        ],
    ),
]
