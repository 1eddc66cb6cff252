"""Questions of chapter 20, from 2017 to today."""

from course_practice.quizzes.engine import Option, Question

QUESTIONS = [
    Question(
        id="modern.guess_moved",
        text="The model with sinusoids was trained at the positions 0 to 63. The same text is now read at 64 to 127. "
        "Its loss was 3.1. What is it now?",
        guess=True,
        options=[
            Option(
                "about 3.5",
                True,
                "The words and their distances are the same, but the vectors that the model adds to the words are new.",
            ),
            Option(
                "3.1 as before, since the sentence is the same",
                False,
                "To a reader it is the same. To this model the position is part of each word's vector.",
            ),
            Option("above 5, a blind guess", False, "It still knows the words and much of what follows them."),
        ],
    ),
    Question(
        id="modern.guess_longer",
        text="After 300 updates RoPE is ahead of sinusoids by about 0.2. Both train four times as long. How large is "
        "its lead then?",
        guess=True,
        options=[
            Option("about 0.8", False, "A lead that grows with the training would mean that RoPE learns *more*."),
            Option("about 0.2, as before", False, "That would be a better model, and not only a quicker start."),
            Option(
                "about 0.02",
                True,
                "It is there with every seed, and it is ten times smaller: RoPE learns faster here.",
            ),
        ],
    ),
    Question(
        id="modern.guess_greedy",
        text="Greedy search writes the likeliest word at each step. Is its sentence the model's most probable one?",
        guess=True,
        options=[
            Option("yes, since each of its words is the likeliest", False, "Its words are, and their product is not."),
            Option(
                "nearly: few sentences are more probable",
                False,
                "A short sentence has fewer factors below 1. Many of them are more probable.",
            ),
            Option(
                "no, some drawn ones are more probable",
                True,
                "The likeliest first word leads into a long sentence, whose many factors make a small product.",
            ),
        ],
    ),
    Question(
        id="modern.guess_cache",
        text="Which of these models keeps the largest cache for each token?",
        guess=True,
        options=[
            Option("Qwen3 30B-A3B, with 30.5 billion parameters", False, "It shares 4 heads of keys among 32."),
            Option("Qwen3 0.6B", True, "It has 8 heads of keys and values in each of 28 layers."),
            Option("Gemma 3 1B", False, "It has a single head of keys and values in each layer."),
        ],
    ),
    Question(
        id="modern.by_hand",
        text="What is the RMSNorm of the token (1, 1, 5, 3), with gain 1 and a tiny ε?",
        options=[
            Option("(0.33, 0.33, 1.67, 1)", True, "The mean of 1, 1, 25, and 9 is 9, and its root is 3."),
            Option("(−0.9, −0.9, 1.51, 0.3)", False, "That is the layer norm, which subtracts the mean 2.5 first."),
            Option("(0.17, 0.17, 0.83, 0.5)", False, "That divides by the length 6: the sum of squares, not the mean."),
            Option("(0.11, 0.11, 0.56, 0.33)", False, "That divides by the mean square 9. The root is missing."),
        ],
    ),
    Question(
        id="modern.add_nine",
        text="You add 9 to every feature of a token. Which of the two norms gives the same result as before?",
        options=[
            Option(
                "the layer norm alone", True, "It subtracts the mean, and the 9 with it. RMSNorm subtracts nothing."
            ),
            Option("RMSNorm alone", False, "It subtracts nothing, so the 9 changes the mean square and the result."),
            Option("both", False, "Both ignore a *factor*. Only one of them ignores a number that is added."),
            Option("neither", False, "One of them subtracts the mean of the token first."),
        ],
    ),
    Question(
        id="modern.what_moves",
        text="In a model with RoPE a whole text is moved by 100 positions. What changes inside the attention?",
        options=[
            Option(
                "queries and keys, but no score",
                True,
                "Each is turned by 100 more steps, and the angle between two of them stays.",
            ),
            Option(
                "the scores, all by the same number", False, "Even that does not happen: the products are the same."
            ),
            Option("the values and thus the outputs", False, "Values are not turned, so they have no position."),
            Option(
                "nothing at all, not even the queries",
                False,
                "Each query is turned by its own position, so it does change. Its products with keys do not.",
            ),
        ],
    ),
    Question(
        id="modern.long_text",
        text="A RoPE model was trained on windows of 64 words. It reads a text of 512 words, and its loss rises from "
        "about word 128 on. What repairs most of it without any training?",
        options=[
            Option(
                "showing each query the last 64 keys alone",
                True,
                "Then no distance is new. A larger base, which turns the slow pairs less, helps almost as much.",
            ),
            Option(
                "moving the text back to position 0",
                False,
                "It starts there. Moving changes nothing for RoPE, and the distances stay as long as they are.",
            ),
            Option(
                "a lower temperature", False, "It makes likely words likelier, and here the likely words are wrong."
            ),
            Option("dividing all angles by 8", False, "Then neighbors stand an eighth apart, which is new as well."),
        ],
    ),
    Question(
        id="modern.layout",
        text="You load weights of another project. The shapes fit, attention without RoPE gives equal numbers, and yet "
        "the model writes nonsense. What do you look at first?",
        options=[
            Option(
                "which features form a pair",
                True,
                "Two layouts are in use, and weights of one are wrong with the other. No shape tells.",
            ),
            Option("whether the mask has the right axes", False, "That would show without RoPE as well."),
            Option("whether the values are scaled", False, "Values are used as they are, with and without RoPE."),
            Option("the number of heads", False, "A wrong number would show in the comparison that you made."),
        ],
    ),
    Question(
        id="modern.which_test",
        text="Your grouped attention uses `repeat` where `repeat_interleave` belongs. Which test does *not* find it?",
        options=[
            Option("8 query heads and 2 heads of keys", False, "0 1 0 1 … and 0 0 0 0 1 1 1 1 differ."),
            Option("8 query heads and 1 head of keys", True, "With one head to share, both give 0 0 0 0 0 0 0 0."),
            Option("4 query heads and 2 heads of keys", False, "0 1 0 1 and 0 0 1 1 differ."),
            Option("6 query heads and 3 heads of keys", False, "0 1 2 0 1 2 and 0 0 1 1 2 2 differ."),
        ],
    ),
    Question(
        id="modern.claim",
        text="A report swaps GELU for SwiGLU at the same d_ff, and its loss falls by 0.02. What follows for SwiGLU?",
        options=[
            Option("It is better by 0.02.", False, "At the same d_ff it has half as many weights again."),
            Option(
                "Nothing yet: the network has grown.",
                True,
                "SwiGLU has three matrices. Compare at equal parameters, with several seeds and the best rate of each.",
            ),
            Option("It is better, if 0.02 is more than the spread of seeds.", False, "The size has changed as well."),
            Option("It is worse, because it costs more.", False, "The cost was not measured, and nothing says so."),
        ],
    ),
    Question(
        id="modern.control",
        text='RoPE learns faster than sinusoids that are added to the words. A friend says: "because it is relative". '
        "Which experiment could refute this?",
        options=[
            Option(
                "the same race with ten more seeds", False, "It makes the lead surer. It says nothing of its cause."
            ),
            Option(
                "a third runner: absolute positions at queries and keys of each layer",
                True,
                "If it keeps most of the lead, relative positions are not what made it.",
            ),
            Option("the same race with a larger model", False, "The two still differ in more than one thing."),
            Option(
                "RoPE without any training, on the same text",
                False,
                "An untrained model knows nothing, and says nothing of how fast it learns.",
            ),
        ],
    ),
    Question(
        id="modern.order",
        text="Probabilities 16/25, 4/25, 4/25, 1/25 at temperature 1. You draw with T = 2 and top-p 0.6, in the "
        "library's order. How many words are left?",
        options=[
            Option("one", False, "That is the other order: at T = 1 the first word reaches 0.6 alone."),
            Option("two", True, "T = 2 takes the roots, 4/9, 2/9, 2/9, 1/9, and the first two reach 0.67."),
            Option("three", False, "The first two reach 6/9 already, which is above 0.6."),
            Option("four", False, "The last ones are cut: the first two reach 6/9."),
        ],
    ),
    Question(
        id="modern.router",
        text="A mixture sends each token to one expert and renormalizes: the gate is the softmax over the one logit "
        "that was kept. Its router never changes in training. Why?",
        options=[
            Option("The learning rate is too small.", False, "A gradient of exactly zero stays zero at any rate."),
            Option("The gate is always 1.", True, "The softmax over one number is 1, so no logit can change the loss."),
            Option("The experts are all alike.", False, "Even with different experts the gate has no gradient."),
            Option("Top-k is never differentiable.", False, "With k = 2 the same choice leaves gates that learn."),
        ],
    ),
    Question(
        id="modern.eight_times_seven",
        text="Mixtral 8x7B has eight experts and 46.7 billion parameters. Why not 56 billion?",
        options=[
            Option("Four experts are smaller than the others.", False, "All eight are of the same size."),
            Option(
                "Attention and tables are there once.",
                True,
                "Only the feed-forward networks are there eight times. The experts share the rest of the model.",
            ),
            Option("Only two experts work for a token.", False, "Those that do not work are stored all the same."),
            Option("Its grouped queries save the rest.", False, "They save keys and values, far less than 9 billion."),
        ],
    ),
]
