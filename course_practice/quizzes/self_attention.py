"""Questions of chapter 03, self-attention."""

from course_practice.quizzes.engine import Option, Question

LENGTH, WIDTH = 50, 512
PRODUCTS = 2 * LENGTH**2 * WIDTH  # the scores, and the weighted means
ATTENTION = 3 * LENGTH * WIDTH**2 + PRODUCTS
RECURRENT = 2 * LENGTH * WIDTH**2

QUESTIONS = [
    Question(
        id="self_attention.where_from",
        text="In self-attention, where do queries, keys, and values come from?",
        options=[
            Option(
                "from the same tokens, by three learned matrices",
                True,
                "They have one source and three projections, because what a token asks for, what it is found by, and "
                "what it gives are different things.",
            ),
            Option(
                "they are one and the same tensor",
                False,
                "They share their source, not their numbers. With Q = K = V = X, two tokens would always have the same "
                "score in both directions.",
            ),
            Option(
                "they are parameters of the layer, learned in training",
                False,
                "The matrices W_Q, W_K, and W_V are learned. Queries, keys, and values are computed anew for each "
                "sentence.",
            ),
            Option(
                "queries from the target, keys and values from the source",
                False,
                "That is cross-attention, in which two sequences meet.",
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
                "Every token still asks the same set of tokens. This is called equivariance: the order passes through "
                "unused.",
            ),
            Option(
                "the same output as before",
                False,
                "That would be invariance. Here the vectors move along with their tokens, and only their mean stays.",
            ),
            Option(
                "different vectors, because the words have other neighbors",
                False,
                "No formula looks at neighbors. Each vector depends on which tokens there are, not on where they "
                "stand.",
            ),
        ],
    ),
    Question(
        id="self_attention.why_no_order",
        text="Why does self-attention know nothing of word order?",
        options=[
            Option(
                "Each score depends on two tokens, wherever they stand.",
                True,
                "The position of a token enters no formula, so it has to be put into the vectors.",
            ),
            Option(
                "All positions are computed in parallel, so no token comes first.",
                False,
                "A convolution is computed in parallel too, and it knows the order, because its weights depend on the "
                "distance.",
            ),
            Option(
                "The softmax sorts the tokens by their scores.",
                False,
                "It turns the scores into weights and leaves them where they are.",
            ),
        ],
    ),
    Question(
        id="self_attention.same_word_twice",
        text="“time flies like an arrow and fruit flies like a banana” goes through self-attention without positions "
        "and without a mask. How different are the two output vectors of “flies”?",
        options=[
            Option(
                "not at all: the two are equal",
                True,
                "Both have the same query, and both attend to the same set of tokens. Without positions, a word that "
                "occurs twice has one output.",
            ),
            Option(
                "a little, by their neighbors",
                False,
                "Nothing in the scores favors a neighbor, since no formula knows which tokens are near.",
            ),
            Option(
                "clearly, since their meanings differ",
                False,
                "Attention can tell them apart only by what it sees, and both see the same tokens with the same query.",
            ),
        ],
    ),
    Question(
        id="self_attention.includes_itself",
        text="Does a token attend to itself?",
        options=[
            Option(
                "Yes, as to any other token: its own key is one of the keys.",
                True,
                "The diagonal of the weights is positive, as all the other entries are. How large it is depends on the "
                "projections.",
            ),
            Option(
                "No, only to the other tokens, since it knows itself already.",
                False,
                "Nothing leaves the token out. A causal mask that did would leave the first token with nothing to see.",
            ),
            Option(
                "Yes, and always the most, since it fits itself best.",
                False,
                "That is a tendency where queries equal keys and the width is large. With projections, a token may "
                "well look elsewhere.",
            ),
        ],
    ),
    Question(
        id="self_attention.cost",
        text=f"A sentence has n = {LENGTH} tokens of width d = {WIDTH}. Self-attention needs 3nd² multiplications for "
        "its projections and 2n²d for scores and weighted means; a plain recurrent layer needs 2nd². Which needs "
        "fewer?",
        options=[
            Option(
                f"the recurrent layer, by a factor of about {ATTENTION / RECURRENT:.1f}",
                True,
                f"They need {RECURRENT / 1e6:.1f} and {ATTENTION / 1e6:.1f} million. The projections alone cost more "
                "than the recurrent layer, at every length.",
            ),
            Option(
                f"self-attention, by a factor of about {RECURRENT / PRODUCTS:.0f}",
                False,
                "That compares 2n²d with 2nd² and gives d / n, as the table in the 2017 paper does. It leaves out the "
                "projections.",
            ),
            Option(
                f"the recurrent layer, by a factor of about {LENGTH}",
                False,
                "That compares n² with n and leaves out the width: n² stands with d, and n stands with d².",
            ),
            Option(
                "self-attention, because it computes all tokens at the same time",
                False,
                "Computing in parallel shortens the time, not the number of multiplications.",
            ),
        ],
    ),
    Question(
        id="self_attention.path",
        text="How many steps separate the last of n tokens from the first, in self-attention and in a recurrent layer?",
        options=[
            Option(
                "1 and about n",
                True,
                "In attention any two tokens meet directly. In a recurrent layer the signal passes through every state "
                "in between.",
            ),
            Option(
                "about n and 1",
                False,
                "It is the other way round: the recurrent layer hands the signal on from state to state.",
            ),
            Option(
                "1 and 1, since both are one layer",
                False,
                "Both are one layer, but inside the recurrent one the state is updated once for each token.",
            ),
        ],
    ),
    Question(
        id="self_attention.context",
        text="“time flies like an arrow”, “fruit flies like a banana”: what differs for the token “flies”?",
        options=[
            Option(
                "its vector after self-attention",
                True,
                "It is now a mixture with the other words, and these differ. Before attention, the two vectors are "
                "equal.",
            ),
            Option(
                "its embedding, which was learned from such sentences",
                False,
                "The embedding is looked up by the token's id alone, so it is the same in both sentences.",
            ),
            Option(
                "its matrices W_Q, W_K, and W_V",
                False,
                "All tokens of all sentences share these matrices.",
            ),
        ],
    ),
    Question(
        id="self_attention.guess_two_flies",
        text="In “time flies like an arrow and fruit flies like a banana”, how far apart are the two vectors of "
        "“flies” after training?",
        guess=True,
        options=[
            Option(
                "far, since their readings differ in every training sentence",
                False,
                "The training wants them apart, but it can only change the matrices and the embeddings, which both "
                "words share.",
            ),
            Option(
                "not at all",
                True,
                "Both have the same query and ask the same set of keys, whatever the training has learned.",
            ),
            Option(
                "a little, since each is nearer to its own cue",
                False,
                "Where a word stands enters no formula, so nothing is nearer to the one than to the other.",
            ),
        ],
    ),
]
