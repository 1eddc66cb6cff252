"""Questions of chapter 04, multi-head attention."""

from course_lib.exercises.multi_head.count_parameters import count_parameters
from course_lib.quizzes.engine import Option, Question

BATCH, N_HEADS, Q_LEN, K_LEN, D_MODEL = 2, 4, 3, 5, 28
D_K = D_MODEL // N_HEADS
BASE_MODEL, BASE_HEADS, BASE_D_K = 512, 8, 64

QUESTIONS = [
    Question(
        id="multi_head.shape",
        text=f"Queries ({BATCH}, {Q_LEN}, {D_MODEL}), keys ({BATCH}, {K_LEN}, {D_MODEL}), {N_HEADS} heads. "
        "Which shape do the attention weights have?",
        options=[
            Option(
                f"({BATCH}, {N_HEADS}, {Q_LEN}, {K_LEN})",
                True,
                "Each sentence and each head has its own table: one row for each query, one column for each key.",
            ),
            Option(
                f"({BATCH}, {Q_LEN}, {N_HEADS}, {N_HEADS})",
                False,
                "That comes out when the transpose is missing: the heads of one token attend to each other.",
            ),
            Option(
                f"({BATCH}, {N_HEADS}, {Q_LEN}, {D_K})",
                False,
                "That is the shape of the queries after the split, and of each head's result. Weights end with keys.",
            ),
            Option(
                f"({BATCH}, {Q_LEN}, {K_LEN})",
                False,
                "One table for each sentence: that is a single head, or the mean over the heads.",
            ),
        ],
    ),
    Question(
        id="multi_head.why_several",
        text="A token must learn who stands before it and who stands after it. Why does one head fail?",
        options=[
            Option(
                "It has one softmax, so it returns one mean, and a mean does not tell who came from where",
                True,
                "Two heads have two sets of weights, and their answers stay apart, side by side.",
            ),
            Option(
                "It has too few parameters to store two answers",
                False,
                "The two heads that solve the task have exactly as many parameters together.",
            ),
            Option(
                "A softmax can put weight on one key only",
                False,
                "It can share its weight among all keys. That is the trouble: what arrives is their mean.",
            ),
            Option(
                "The two places are at different distances from the token",
                False,
                "Attention reaches every distance in one step. Both neighbors are within its reach.",
            ),
        ],
    ),
    Question(
        id="multi_head.parameters",
        text=f"d_model = {BASE_MODEL}, {BASE_HEADS} heads with d_k = d_v = {BASE_D_K}, no biases. "
        "How many parameters has multi-head attention?",
        options=[
            Option(
                f"{count_parameters(BASE_MODEL, BASE_HEADS, BASE_D_K, BASE_D_K, False):,}",
                True,
                f"4 · {BASE_MODEL}²: three projections and W_O. The number of heads cancels.",
            ),
            Option(
                f"{BASE_HEADS * count_parameters(BASE_MODEL, 1, BASE_MODEL, BASE_MODEL, False):,}",
                False,
                f"That gives each of the {BASE_HEADS} heads full width. A head projects down to {BASE_D_K} features.",
            ),
            Option(
                f"{3 * BASE_MODEL**2:,}",
                False,
                "Queries, keys and values are counted; W_O is missing.",
            ),
            Option(
                f"{count_parameters(BASE_MODEL, 1, BASE_D_K, BASE_D_K, False):,}",
                False,
                f"That is one head of {BASE_D_K} features. There are {BASE_HEADS}, each with matrices of its own.",
            ),
        ],
    ),
    Question(
        id="multi_head.view",
        text="x has the shape (batch, seq_len, d_model). What is wrong with `x.view(batch, n_heads, seq_len, d_k)`?",
        options=[
            Option(
                "Shape right, numbers wrong: `view` deals out whole tokens, so a head holds other tokens than it "
                "should",
                True,
                "`view` only counts the numbers differently. An axis is moved by `transpose`, after the cut.",
            ),
            Option(
                "It raises an error, because n_heads and seq_len are in the wrong order",
                False,
                "It runs, since the number of elements fits. That is what makes it dangerous.",
            ),
            Option(
                "Nothing, as long as the heads are joined again by a `view` back",
                False,
                "That round trip is the identity, and in between every head attends among the wrong vectors.",
            ),
            Option(
                "It copies the tensor and doubles the memory",
                False,
                "A `view` never copies. Its numbers stay where they are, and that is exactly the problem.",
            ),
        ],
    ),
    Question(
        id="multi_head.scale",
        text=f"d_model = {BASE_MODEL}, {BASE_HEADS} heads. By what are the scores of a head divided?",
        options=[
            Option(
                f"√{BASE_D_K}",
                True,
                f"A score of one head is a sum of d_k = {BASE_D_K} products, so it spreads like √{BASE_D_K}.",
            ),
            Option(
                f"√{BASE_MODEL}",
                False,
                f"Then the scores are √{BASE_HEADS} times too small and every softmax is too even.",
            ),
            Option(
                f"{BASE_D_K}",
                False,
                "The variance of a score grows with d_k, its spread with the root of it.",
            ),
            Option(
                f"√{BASE_HEADS}",
                False,
                "Heads do not add up inside a score. Each has its own table, of d_k terms a cell.",
            ),
        ],
    ),
    Question(
        id="multi_head.w_o",
        text="What does W_O do?",
        options=[
            Option(
                "It mixes: each head may write to every feature of the output",
                True,
                "Without it head i fills its own d_v features, and no other head can touch them.",
            ),
            Option(
                "It brings the concatenation, which is n_heads times too wide, back to d_model",
                False,
                "The concatenation has n_heads · d_v = d_model features already. Nothing complains when W_O is "
                "missing.",
            ),
            Option(
                "It chooses, for each token, the one head that fits best",
                False,
                "It is one fixed matrix, the same for all tokens. It adds what the heads write; it selects nothing.",
            ),
            Option(
                "It averages the heads, so that their errors cancel",
                False,
                "A mean would throw away what keeps the answers apart. W_O is learned, and different for each head.",
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
                "W_Q of one head has d_model rows and d_k columns: it reads everything and keeps a narrow view.",
            ),
            Option(
                "the first d_k features",
                False,
                "The input is not cut. Cut is the projected vector, and each of its features is a mix of all inputs.",
            ),
            Option(
                "the features that W_O assigns to it",
                False,
                "W_O comes last, and mixes what the heads return. It does not reach back to the queries.",
            ),
        ],
    ),
    Question(
        id="multi_head.cross",
        text="Cross-attention: `query` from a target of 3 tokens, `key` and `value` from a memory of 5. "
        "What happens when the memory's tokens are shuffled (keys and values alike)?",
        options=[
            Option(
                "The output stays the same",
                True,
                "Each query takes a weighted mean over the memory, and a mean does not depend on the order of its "
                "terms.",
            ),
            Option(
                "The rows of the output are shuffled in the same way",
                False,
                "The rows belong to the queries, and those stayed. That happens in self-attention, where both move.",
            ),
            Option(
                "The output is wrong, because weights and values no longer belong together",
                False,
                "They do: keys and values moved together. Shuffle one of the two alone, and this would be the answer.",
            ),
            Option(
                "The output gets 5 rows instead of 3",
                False,
                "One row for each query, whatever the memory holds.",
            ),
        ],
    ),
    Question(
        id="multi_head.polarity",
        text="`mask` follows this course: True = may attend. How do you hand it to `nn.MultiheadAttention`?",
        options=[
            Option(
                "`attn_mask=~mask`",
                True,
                "There True means ignore, so the mask is turned round.",
            ),
            Option(
                "`attn_mask=mask`",
                False,
                "Then every token sees its future alone, and the last row, with nothing to see, is NaN.",
            ),
            Option(
                "`attn_mask=mask.float()`",
                False,
                "A mask of numbers is added to the scores. Adding 0 or 1 hides nothing.",
            ),
            Option(
                "`key_padding_mask=mask`",
                False,
                "That argument has the shape (batch, k_len), and there, too, True means ignore.",
            ),
        ],
    ),
]
