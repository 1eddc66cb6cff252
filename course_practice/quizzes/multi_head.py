"""Questions of chapter 04, multi-head attention."""

from course_lib.multi_head import MultiHeadAttention
from course_practice.quizzes.engine import Option, Question

BATCH, N_HEADS, Q_LEN, K_LEN, D_MODEL = 2, 4, 3, 5, 28
D_K = D_MODEL // N_HEADS
BASE_MODEL, BASE_HEADS, BASE_D_K = 512, 8, 64
LENGTH, HEADS = 5, 8  # of the scores that were printed: as many heads as features in each
MANY_HEADS = 16


def _parameters(d_model, n_heads):
    return sum(p.numel() for p in MultiHeadAttention(d_model, n_heads, bias=False).parameters())


PARAMETERS = _parameters(BASE_MODEL, BASE_HEADS)

QUESTIONS = [
    Question(
        id="multi_head.shape",
        text=f"Queries have the shape ({BATCH}, {Q_LEN}, {D_MODEL}), keys ({BATCH}, {K_LEN}, {D_MODEL}), and there are "
        f"{N_HEADS} heads. Which shape do the attention weights have?",
        options=[
            Option(
                f"({BATCH}, {N_HEADS}, {Q_LEN}, {K_LEN})",
                True,
                "Each sentence and each head has its own table, with one row for each query and one column for each "
                "key.",
            ),
            Option(
                f"({BATCH}, {Q_LEN}, {N_HEADS}, {N_HEADS})",
                False,
                "Tables of heads by heads come from a missing transpose. (With as many keys as queries it runs, and "
                "the heads of one token attend to each other; here it would be an error.)",
            ),
            Option(
                f"({BATCH}, {N_HEADS}, {Q_LEN}, {D_K})",
                False,
                "That is the shape of the queries after the split, and of what each head returns. Weights end with the "
                "keys.",
            ),
            Option(
                f"({BATCH}, {Q_LEN}, {K_LEN})",
                False,
                "That is one table for each sentence: the weights of a single head, or their mean over the heads.",
            ),
        ],
    ),
    Question(
        id="multi_head.why_several",
        text="A token is to find out which word stands before it and which word stands after it. What do two heads "
        "give it that one head does not?",
        options=[
            Option(
                "two weighted means, side by side",
                True,
                "One head returns one mean. If both neighbors have the same weight, their order is lost in it; if the "
                "weights differ, the order shows only as a difference in size. Two heads keep the answers apart, so a "
                "linear layer can read both.",
            ),
            Option(
                "weight on two words, where one head can choose only one",
                False,
                "A single head can do that: its softmax may share the weight among all the keys. What it returns is "
                "still one mean.",
            ),
            Option(
                "twice the parameters",
                False,
                "Two heads of half the width have as many parameters as one head of full width.",
            ),
            Option(
                "a view in both directions, where one head looks only one way",
                False,
                "One head may give weight to keys on both sides at once.",
            ),
        ],
    ),
    Question(
        id="multi_head.parameters",
        text=f"d_model = {BASE_MODEL}, {BASE_HEADS} heads with d_k = d_v = {BASE_D_K}, no biases. "
        "How many parameters does multi-head attention have?",
        options=[
            Option(
                f"{PARAMETERS:,}",
                True,
                f"4 · {BASE_MODEL}²: the three projections and W_O. The number of heads cancels.",
            ),
            Option(
                f"{BASE_HEADS * _parameters(BASE_MODEL, 1):,}",
                False,
                f"That gives each of the {BASE_HEADS} heads the full width. A head projects to {BASE_D_K} features.",
            ),
            Option(
                f"{PARAMETERS - BASE_MODEL**2:,}",
                False,
                "The projections of queries, keys, and values are counted, and W_O is missing.",
            ),
            Option(
                f"{PARAMETERS // BASE_HEADS:,}",
                False,
                f"That is one head of {BASE_D_K} features. There are {BASE_HEADS}, each with matrices of its own.",
            ),
        ],
    ),
    Question(
        id="multi_head.view",
        text="x has the shape (batch, seq_len, d_model), and the heads are split by "
        "`x.view(batch, n_heads, seq_len, d_k)`. What happens?",
        options=[
            Option(
                "The shape is right, and the numbers are wrong.",
                True,
                "`view` only cuts the stored numbers into new rows, so a head gets pieces of a few tokens. First "
                "`view(batch, seq_len, n_heads, d_k)`, then `transpose(1, 2)`.",
            ),
            Option(
                "It raises an error.",
                False,
                "It runs, because the number of elements fits. That is what makes it dangerous.",
            ),
            Option(
                "Nothing bad, because joining the heads by a `view` undoes it.",
                False,
                "The round trip does give x back, but in between every head attends among the wrong vectors.",
            ),
            Option(
                "The heads are right, but no longer contiguous in memory.",
                False,
                "A transpose makes a tensor non-contiguous. A `view` leaves every number where it is, and so it cannot "
                "move an axis.",
            ),
        ],
    ),
    Question(
        id="multi_head.scores_shape",
        text=f"You print the shape of the scores: ({BATCH}, {LENGTH}, {HEADS}, {HEADS}). The batch has {BATCH} "
        f"sentences of {LENGTH} tokens, and there are {HEADS} heads with d_k = {HEADS}. What is wrong?",
        options=[
            Option(
                "The heads were not moved in front of the tokens.",
                True,
                f"The scores should be ({BATCH}, {HEADS}, {LENGTH}, {LENGTH}). Here the heads inside one token attend "
                "to each other, and no token sees another.",
            ),
            Option(
                "The keys were not transposed before the product.",
                False,
                f"With the heads in front, this would be an error: ({LENGTH}, {HEADS}) times ({LENGTH}, {HEADS}) does "
                "not fit.",
            ),
            Option(
                "The softmax ran over the heads.",
                False,
                "A softmax changes no shape, and it comes after the scores.",
            ),
            Option(
                "Nothing: each token has one row of scores for each of its heads.",
                False,
                f"A row of scores has one number for each key, and there are {LENGTH} keys.",
            ),
        ],
    ),
    Question(
        id="multi_head.scale",
        text=f"A model has d_model = {BASE_MODEL} and {BASE_HEADS} heads. By what are the scores of one head divided?",
        options=[
            Option(
                f"√{BASE_D_K}",
                True,
                f"A score of one head is a sum of d_k = {BASE_D_K} products, so its standard deviation grows with "
                f"√{BASE_D_K}.",
            ),
            Option(
                f"√{BASE_MODEL}",
                False,
                f"Then the scores start too small by a factor of √{BASE_HEADS}, and every softmax starts too flat.",
            ),
            Option(
                f"{BASE_D_K}",
                False,
                "The variance of a score grows with d_k, and its standard deviation with the root of d_k.",
            ),
            Option(
                f"√{BASE_HEADS}",
                False,
                f"Scores are not added up over the heads. Each head has its own, and each is a sum of {BASE_D_K} "
                "products.",
            ),
        ],
    ),
    Question(
        id="multi_head.price",
        text=f"d_model stays the same, and you go from 1 head to {MANY_HEADS} heads of equal width. What grows "
        "with the number of heads?",
        options=[
            Option(
                "the number of weights, and the softmax's work on them",
                True,
                "Each head has a table of q_len × k_len weights of its own, to be scaled, masked, and normalized.",
            ),
            Option(
                f"the number of parameters, by a factor of {MANY_HEADS}",
                False,
                "Each head is as much narrower as there are more heads, so the projections keep their size.",
            ),
            Option(
                f"the work of the matrix products, by a factor of {MANY_HEADS}",
                False,
                f"There are {MANY_HEADS} times as many products, and each is over {MANY_HEADS} times fewer features, "
                "so their work stays the same.",
            ),
            Option(
                "nothing, because the heads share out d_model among them",
                False,
                "That holds for parameters and matrix products. The tables of weights are not shared out: every head "
                "has a whole one.",
            ),
        ],
    ),
    Question(
        id="multi_head.w_o",
        text="What does W_O do?",
        options=[
            Option(
                "It lets each head write to every feature of the output.",
                True,
                "Without it, head i fills its own d_v features, and no other head can reach them.",
            ),
            Option(
                "It shrinks the joined heads, which are n_heads times too wide, to d_model.",
                False,
                "With d_v = d_model / n_heads, as usual, the joined heads have d_model features already. (Where "
                "n_heads · d_v differs from d_model, W_O changes the width as well.)",
            ),
            Option(
                "It chooses, for each token, the head that fits best.",
                False,
                "It is one fixed matrix, the same for all tokens. It adds up what the heads write and selects nothing.",
            ),
            Option(
                "It averages the heads, so that their errors cancel.",
                False,
                "A mean would mix up what the heads keep apart. W_O is learned, and it treats each head differently.",
            ),
        ],
    ),
    Question(
        id="multi_head.whole_vector",
        text="Which features of the input can head 0 use for its queries?",
        options=[
            Option(
                "all d_model of them",
                True,
                "A head's W_Q has d_model rows and d_k columns: it reads every feature and returns a few mixtures.",
            ),
            Option(
                "the first d_k of them",
                False,
                "The projected vector is cut into heads, not the input, and each projected feature is a mixture of all "
                "input features.",
            ),
            Option(
                "the d_k of them that training has selected",
                False,
                "Training does not pick out features. It changes how much each of them counts in each mixture.",
            ),
        ],
    ),
    Question(
        id="multi_head.cross",
        text="In cross-attention, `query` comes from a target of 3 tokens, `key` and `value` from a memory of 5. The "
        "memory's tokens are shuffled, keys and values alike. What happens to the output?",
        options=[
            Option(
                "It stays the same.",
                True,
                "Each query takes a weighted mean over the memory, and a mean does not depend on the order of its "
                "terms.",
            ),
            Option(
                "Its rows are shuffled in the same way.",
                False,
                "The rows belong to the queries, which have not moved. In self-attention the queries move too, and "
                "there this would be the answer.",
            ),
            Option(
                "It is wrong, because weights and values no longer match.",
                False,
                "They still match, because keys and values moved together. Shuffling only one of them would do this.",
            ),
            Option(
                "It has 5 rows instead of 3.",
                False,
                "There is one row for each query, whatever the length of the memory is.",
            ),
        ],
    ),
    Question(
        id="multi_head.polarity",
        text="`mask` is a causal mask of this course, in which True means *may attend*. How do you hand it to "
        "`nn.MultiheadAttention`?",
        options=[
            Option(
                "`attn_mask=~mask`",
                True,
                "There True means *ignore*, so the mask has to be inverted.",
            ),
            Option(
                "`attn_mask=mask`",
                False,
                "Then every token sees only its future, and the last one, which has none, sees nothing at all.",
            ),
            Option(
                "`attn_mask=mask.float()`",
                False,
                "A mask of floats is added to the scores, and adding 1 or 0 hides nothing.",
            ),
            Option(
                "`is_causal=True` instead of the mask",
                False,
                "In this module, `is_causal` is only a hint about `attn_mask`. Without the mask it is an error.",
            ),
        ],
    ),
    # Predictions, asked in the chapter before the cell that answers them.
    Question(
        id="multi_head.no_gradient",
        guess=True,
        text="Which of the four biases gets a gradient of zero, whatever the input and the loss are?",
        options=[
            Option(
                "the bias of the queries",
                False,
                "It is multiplied by every key, and the keys differ, so the scores of a row do not all change alike.",
            ),
            Option(
                "the bias of the keys",
                True,
                "It adds one number to all scores of a row, and a softmax does not notice that.",
            ),
            Option(
                "the bias of the values",
                False,
                "The weights of a row sum to 1, so this bias arrives in every output undiminished.",
            ),
            Option(
                "the bias of the output",
                False,
                "It is added to every output as it is, so its gradient is the sum of the gradients that arrive there.",
            ),
        ],
    ),
    Question(
        id="multi_head.ranks",
        guess=True,
        text="A head has 8 features, d_model is 64, and there are 48 tokens. What are the ranks of its QK circuit, of "
        "its scores, and of its weights?",
        options=[
            Option(
                "8, 8, and 8",
                False,
                "That would hold if the softmax were linear. The exponential acts on each score alone and lifts the "
                "rank.",
            ),
            Option(
                "8, 8, and 48",
                True,
                "Circuit and scores pass through 8 features. The softmax acts on each score alone and lifts the rank.",
            ),
            Option(
                "64, 48, and 48",
                False,
                "Those are the sizes of the matrices. A product through 8 features has a rank of at most 8.",
            ),
            Option(
                "8, 48, and 48",
                False,
                "The scores are X times the circuit times X transposed, and a product has at most the rank of its "
                "factors.",
            ),
        ],
    ),
]
