"""Questions of chapter 18, what the heads do."""

from course_practice.quizzes.engine import Option, Question

VALUES = [(0, 0), (4, 0), (0, 4), (4, 4)]
MAPS = {"½ 0 0 ½": (0.5, 0, 0, 0.5), "0 ½ ½ 0": (0, 0.5, 0.5, 0), "½ ½ 0 0": (0.5, 0.5, 0, 0)}
OUTPUTS = {
    name: tuple(sum(w * v[i] for w, v in zip(weights, VALUES, strict=True)) for i in range(2))
    for name, weights in MAPS.items()
}
SAME = OUTPUTS["½ 0 0 ½"]

QUESTIONS = [
    Question(
        id="attention_view.guess_layers",
        text="In one row, we exchange the weights of layer 0 at random and see how many words change, then the same "
        "for layer 1. Both maps point to the right word in about nine of ten cases. What do you expect?",
        guess=True,
        options=[
            Option("about the same in both", False, "That is what the two pictures suggest. Run it."),
            Option(
                "more changes in layer 0", False, "It comes first, so all later work builds on it. Yet it is not so."
            ),
            Option("more changes in layer 1", True, "And the difference is far larger than that of the two pictures."),
            Option("hardly any in either", False, "Then no map would be used, and cross-attention would be idle."),
        ],
    ),
    Question(
        id="attention_view.guess_one_hot",
        text="Each head of both layers keeps its largest weight alone, as 1, and the others become 0. In how many of "
        "the linked words does the prediction change?",
        guess=True,
        options=[
            Option("in fewer than one in fifty", True, "What the small weights carry is hardly used here."),
            Option("in about a quarter of them", False, "Small weights could matter, but here they hardly do."),
            Option("in more than half", False, "That is what *flat* weights do. Sharp ones change next to nothing."),
        ],
    ),
    Question(
        id="attention_view.guess_cut",
        text="Of 48 heads we silence one at a time. The most expensive one ruins nearly all sentences with *because* "
        "or *and*. What does it do to simple sentences?",
        guess=True,
        options=[
            Option("it ruins about half of them", False, "They have no second clause, so there is nothing to confuse."),
            Option("next to nothing", True, "Its work begins with the second clause, which they do not have."),
            Option("it ruins nearly all of them, too", False, "Then it would do something that every sentence needs."),
        ],
    ),
    Question(
        id="attention_view.guess_blind",
        text="All 16 heads of the encoder are silent, so no source token sees another one. How many simple sentences "
        "are still translated without a mistake?",
        guess=True,
        options=[
            Option(
                "none, or next to none", False, "The decoder can still look at every source token, with its position."
            ),
            Option("about nine in ten", True, "In a simple sentence the decoder's own look at each token is enough."),
            Option("about a third of them", False, "That is what is left of the sentences with *and*."),
        ],
    ),
    Question(
        id="attention_view.same_output",
        text=f"Four tokens have the values {', '.join(map(str, VALUES))}. The weights ½ 0 0 ½ give the output "
        f"({SAME[0]:g}, {SAME[1]:g}). Which weights give the same?",
        options=[
            Option(
                "0 ½ ½ 0",
                OUTPUTS["0 ½ ½ 0"] == SAME,
                "Half of (4, 0) and half of (0, 4): another map, and the same output.",
            ),
            Option("½ ½ 0 0", OUTPUTS["½ ½ 0 0"] == SAME, f"These give {OUTPUTS['½ ½ 0 0']}."),
            Option(
                "no others, since the weights decide the output",
                False,
                "They do, and so do others: four values in the plane are too many to be independent.",
            ),
        ],
    ),
    Question(
        id="attention_view.fair_control",
        text="You hide the word with the largest weight, and most predictions change. Somebody objects that any large "
        "change would disturb the model. Which control answers this best?",
        options=[
            Option(
                "hide another word, drawn at random",
                False,
                "Most words have hardly any weight, so this moves next to nothing.",
            ),
            Option(
                "move as much weight at words that should not matter",
                True,
                "Then the size of the change is the same, and only its place differs.",
            ),
            Option(
                "hide the same word in a model with random weights",
                False,
                "Such a model predicts nothing that could become wrong.",
            ),
            Option("repeat it with another seed", False, "The objection holds for each seed."),
        ],
    ),
    Question(
        id="attention_view.identity",
        text="You write a tool that replaces attention weights. With an edit that returns the weights as they are, the "
        "logits move by 0.8. What do you conclude?",
        options=[
            Option(
                "The model is sensitive, so take a smaller edit.",
                False,
                "There is no smaller edit than none. The tool itself changes something.",
            ),
            Option(
                "That is rounding and harmless.", False, "Rounding would show in the sixth digit, not in the first."
            ),
            Option(
                "The tool computes something else than the model does.",
                True,
                "Repair it first: whatever it measures would be its own error, for instance dropout left on.",
            ),
            Option("The weights of this model are not used.", False, "Nothing was changed in them yet."),
        ],
    ),
    Question(
        id="attention_view.row_late",
        text="An alignment map of a trained translator looks shifted: *reads* points to 책을, *a book* points to the "
        "end of the sentence. BLEU is 99. What is the likeliest cause?",
        options=[
            Option(
                "the model has learned a shifted alignment", False, "Possible, but look at the picture's code first."
            ),
            Option(
                "rows are labeled with the token that is read, not with the one that is predicted",
                True,
                "The decoder chooses a word before it reads it, so word t belongs to the row before.",
            ),
            Option("the positions of the source are off by one", False, "Then the translation would suffer, too."),
            Option("the softmax runs over the wrong axis", False, "Then columns would sum to 1, and BLEU would fall."),
        ],
    ),
    Question(
        id="attention_view.costs_add",
        text="Silencing head A alone costs 1 point, and so does head B alone. What does silencing both cost?",
        options=[
            Option("2 points", False, "Only if neither of the two takes over the other's work."),
            Option("1 point", False, "Only if both do one thing, and one point is all it is worth."),
            Option(
                "anything: measure it", True, "If each can stand in for the other, both together may cost far more."
            ),
            Option("less than 2 points, as they share work", False, "Just when they share work it can be more than 2."),
        ],
    ),
    Question(
        id="attention_view.tau",
        text="The ranking of source words by attention agrees with that by gradient at τ = 0.69. Is that much?",
        options=[
            Option(
                "yes, since 1 is the largest value there is",
                False,
                "How near to 1 two faithful rankings come is not known yet.",
            ),
            Option(
                "no, since a faithful explanation would have 1",
                False,
                "Most source words do not matter for a word, and their order is noise in *both* rankings.",
            ),
            Option(
                "only a comparison can tell, as of two gradients or two models", True, "A number needs a yardstick."
            ),
        ],
    ),
    Question(
        id="attention_view.clause",
        text="In our three translators some head of the decoder's first self-attention looks at *because* while the "
        "second clause is written. What may you say of a fourth one, trained with another seed?",
        options=[
            Option("Its head 5 does this.", False, "The number of the head is an accident of the seed."),
            Option(
                "Probably it looks back too, in one or several heads.",
                True,
                "The function came back in each seed. Its place, and how many heads share it, did not.",
            ),
            Option("Nothing at all.", False, "Three of three is some evidence, if not a proof."),
            Option("It has exactly one clause head.", False, "Even of our three this is not true."),
        ],
    ),
]
