"""Questions of chapter 03, self-attention."""

from course_lib.quizzes.engine import Option, Question

LENGTH, WIDTH = 50, 512
ATTENTION, RECURRENT = LENGTH**2 * WIDTH, LENGTH * WIDTH**2

QUESTIONS = [
    Question(
        id="self_attention.where_from",
        text="In self-attention, where do queries, keys and values come from?",
        options=[
            Option(
                "from the same tokens, by three different learned matrices",
                True,
                "One source, three projections: what a token asks, what it shows, and what it gives are different "
                "things.",
            ),
            Option(
                "they are all the same tensor",
                False,
                "They share their source, not their numbers. With Q = K = V = X, a token could not ask for anything "
                "but tokens like itself.",
            ),
            Option(
                "they are parameters of the layer, learned in training like embeddings",
                False,
                "The matrices W_Q, W_K and W_V are learned. Queries, keys and values are computed anew for each "
                "sentence.",
            ),
            Option(
                "queries from the target, keys and values from the source",
                False,
                "That is cross-attention, where two sequences meet.",
            ),
        ],
    ),
    Question(
        id="self_attention.shuffled",
        text="You shuffle the tokens of a sentence and apply self-attention, without positions and without a mask. "
        "What comes out?",
        options=[
            Option(
                "the same vectors, shuffled in the same way",
                True,
                "Every token asks the same set of tokens as before. This is equivariance: the order passes through, "
                "unused.",
            ),
            Option(
                "exactly the same output as before, in the same order",
                False,
                "That would be invariance. The vectors move along with their tokens; only an average over them stays.",
            ),
            Option(
                "different vectors, since the order matters",
                False,
                "Nothing in the computation knows the order. Each vector depends on which tokens there are, not where.",
            ),
        ],
    ),
    Question(
        id="self_attention.why_no_order",
        text="Why does self-attention know nothing of word order?",
        options=[
            Option(
                "Each score is computed from two tokens, wherever they stand.",
                True,
                "The position of a token enters no formula. That is why it has to be put into the vectors.",
            ),
            Option(
                "All positions are computed in parallel, so no token comes first.",
                False,
                "A convolution is computed in parallel too, and it knows its neighbors: its weights depend on the "
                "distance.",
            ),
            Option(
                "The softmax sorts the scores.",
                False,
                "It leaves them where they are. It only turns them into shares of 1.",
            ),
        ],
    ),
    Question(
        id="self_attention.includes_itself",
        text="Does a token attend to itself?",
        options=[
            Option(
                "Yes, its own key is one of the keys.",
                True,
                "The diagonal of the weights is positive, as every other entry is. How large it is depends on the "
                "projections.",
            ),
            Option(
                "No, only to the other tokens.",
                False,
                "Nothing leaves it out. A mask that did would leave the first token of a causal model with nothing "
                "to see.",
            ),
            Option(
                "Yes, and always the most.",
                False,
                "A tendency when queries equal keys and the width is large, no law: with projections a token may "
                "well look elsewhere.",
            ),
        ],
    ),
    Question(
        id="self_attention.cost",
        text=f"A sentence has n = {LENGTH} tokens of width d = {WIDTH}. Self-attention takes about n²·d operations, a "
        "recurrent layer n·d². Which needs fewer?",
        options=[
            Option(
                f"self-attention, by a factor of about {RECURRENT // ATTENTION}",
                True,
                f"{ATTENTION / 1e6:.2f} against {RECURRENT / 1e6:.1f} million: the ratio is d / n. Attention is "
                "cheaper while the sentence is shorter than the vectors are wide.",
            ),
            Option(
                f"the recurrent layer, by a factor of about {LENGTH}",
                False,
                f"That compares n² with n and forgets d. The recurrent layer multiplies by a {WIDTH} × {WIDTH} matrix "
                "at every step.",
            ),
            Option(
                "the recurrent layer, since n² is always more than n",
                False,
                "n² meets d, and n meets d²: which product is larger depends on which of n and d is.",
            ),
        ],
    ),
    Question(
        id="self_attention.path",
        text="How many layers must a signal pass from the first to the last of n tokens, in self-attention and in a "
        "recurrent layer step by step?",
        options=[
            Option(
                "1 and about n",
                True,
                "Any two tokens meet directly in attention. In a recurrent layer the signal is handed on from step "
                "to step.",
            ),
            Option(
                "n and 1",
                False,
                "The other way round: the recurrent layer hands the signal on from step to step.",
            ),
            Option(
                "1 and 1, both are one layer",
                False,
                "One layer, but inside of it the recurrent state is updated once a token, and each update can lose "
                "something.",
            ),
        ],
    ),
    Question(
        id="self_attention.context",
        text="“Time flies like an arrow”, “fruit flies like a banana”: what differs for the token “flies”?",
        options=[
            Option(
                "its vector after self-attention",
                True,
                "It is now a mixture with its neighbors, and these differ. Before attention, the two vectors are "
                "equal.",
            ),
            Option(
                "its embedding, which was learned from such sentences",
                False,
                "The embedding is looked up by the token's id alone. It is the same in both sentences.",
            ),
            Option(
                "its matrices W_Q, W_K and W_V",
                False,
                "These are shared by all tokens of all sentences. What they make of a token's context differs.",
            ),
        ],
    ),
]
