"""Questions of chapter 17, putting it all together."""

from course_practice.quizzes.engine import Option, Question

TOKEN, TOKENS = 0.98, 12
SENTENCE = TOKEN**TOKENS

QUESTIONS = [
    Question(
        id="translation.guess_floor",
        text="A dictionary knows the right partners of nearly every source word and translates word for word, Korean "
        "to English. How many of the test sentences does it get exactly right?",
        guess=True,
        options=[
            Option(
                "almost none",
                True,
                "About one in a hundred. It has most of the words, and a Korean sentence has its verb at the end.",
            ),
            Option("about half", False, "Half of the sentences are simple ones, but these too have their verb last."),
            Option("nearly all", False, "It has nearly all of the *words*. What is missing is their order."),
        ],
    ),
    Question(
        id="translation.guess_best_loss",
        text="Seven machines are trained alike, six of them with one wrong part. Which has the lowest validation loss?",
        guess=True,
        options=[
            Option(
                "the right one", False, "It is neither the best nor the worst. One of the wrong ones is far below it."
            ),
            Option(
                "the one whose causal mask shows one token too many",
                True,
                "It reads the answer, so its loss is the lowest by far. From its own words it writes nothing right.",
            ),
            Option("the one without padding masks", False, "Its loss is a little above that of the right one."),
            Option(
                "the one whose positions are sines alone",
                False,
                "After so short a training it is better than the right one, and yet not the lowest.",
            ),
        ],
    ),
    Question(
        id="translation.guess_length",
        text="The split *length* has sentences of three clauses. How many of its sources have more tokens than the "
        "longest source in training?",
        guess=True,
        options=[
            Option("all of them", False, "The name suggests it. Training has long sentences of two clauses, too."),
            Option("about half", False, "Far fewer: training has long sentences of two clauses, too."),
            Option("fewer than one in eight", True, "What is new about them is the third clause, not the length."),
        ],
    ),
    Question(
        id="translation.errors_cluster",
        text=f"A translator gets each token right with probability {TOKEN}, and a sentence has {TOKENS} tokens. If "
        f"errors were spread by chance, {SENTENCE:.2f} of its sentences would be right. In fact 0.93 are. Why?",
        options=[
            Option(
                "The errors stand together, several in one sentence.",
                True,
                "The same number of wrong tokens spoils fewer sentences when they share them.",
            ),
            Option(
                "The errors are at the ends of sentences.", False, "Where they stand within a sentence is not seen."
            ),
            Option(
                "The share of tokens was measured wrongly.",
                False,
                "Both shares can be right: the product assumes that errors do not depend on each other.",
            ),
            Option("Short sentences are harder than long ones.", False, "Nothing is said about length here."),
        ],
    ),
    Question(
        id="translation.swap_a_part",
        text="You replace the positional encoding by a wrong one and train briefly. BLEU rises from 37 to 49. What do "
        "you conclude?",
        options=[
            Option(
                "The new encoding is right, since the score is higher.",
                False,
                "A score after a short training is no proof: the seeds of one machine differ by more than ten BLEU.",
            ),
            Option(
                "Nothing about rightness: compare outputs with the same weights.",
                True,
                "Equality on one batch decides at once, and no amount of training does.",
            ),
            Option("The old encoding was wrong.", False, "It equals the paper's formula, whatever the score says."),
            Option(
                "The positions do not matter in this task.", False, "They may: wrong positions are still positions."
            ),
        ],
    ),
    Question(
        id="translation.fast_path",
        text="Your own attention returns zeros by mistake. You put it into the library's machine, train with the fast "
        "loss, and the loss falls exactly as before. Why?",
        options=[
            Option("The residual connections make up for it.", False, "Then the loss would not be the *same*."),
            Option(
                "The fast path computes with the weights and never calls your function.",
                True,
                "It reads the parameters out of the modules. Train with the plain loss when you test parts.",
            ),
            Option("Zeros are a valid start for attention.", False, "They would have no gradient towards the keys."),
            Option(
                "The feed-forward networks learn the task alone.",
                False,
                "They see one token each and cannot look at another.",
            ),
        ],
    ),
    Question(
        id="translation.source_end",
        text="A trained translator scores 99 BLEU in the notebook and 82 in your script. No error is raised, and the "
        "model and the vocabulary are the same files. What is the likeliest cause?",
        options=[
            Option(
                "a beam of 5 instead of greedy search", False, "On this corpus the two give nearly the same sentences."
            ),
            Option("`eval()` was forgotten", False, "The model has no dropout, so nothing changes."),
            Option("the sources end without EOS", True, "In training every source ended with it; nothing complains."),
            Option("the sentences come in another order", False, "Each is translated by itself."),
        ],
    ),
    Question(
        id="translation.ids",
        text="A colleague trains a fresh vocabulary on the test texts, with as many merges, and translates with the "
        "stored model. What happens?",
        options=[
            Option("an error about the vocabulary's size", False, "The ids are in range. Nothing is checked."),
            Option(
                "a slightly lower score, as some words are split otherwise",
                False,
                "It is not the splitting: an id now stands for another token altogether.",
            ),
            Option("nonsense, without a word of warning", True, "Ids have their meaning from the vocabulary alone."),
            Option("the same translations", False, "Only if the two vocabularies were equal, id by id."),
        ],
    ),
    Question(
        id="translation.depth",
        text="The recurrent network beats the Transformer on sentences with two relative clauses, a kind that training "
        "does not show. After 200 such examples the Transformer gets about half of them right, and the recurrent "
        "network fewer. What does this say?",
        options=[
            Option("Transformers cannot nest clauses.", False, "After 200 examples it gets about half of them right."),
            Option(
                "The lead was one without examples, and examples removed it.",
                True,
                "That is all that was measured. Why the network is freer at first is open.",
            ),
            Option(
                "Recurrent networks generalize better.", False, "On the other deep kinds both get nearly none right."
            ),
            Option("The sentences were too long for it.", False, "None is longer than the longest training source."),
        ],
    ),
    Question(
        id="translation.tag_table",
        text="In an error table the tag *past* stands in 60 % of all errors. Is the past tense hard?",
        options=[
            Option("Yes, most errors have it.", False, "Perhaps most *sentences* have it."),
            Option(
                "That depends on how many sentences have the tag.",
                True,
                "Divide by the sentences with the tag, and compare with those without it.",
            ),
            Option(
                "No, 40 % of the errors lack it.", False, "This says as little: the number of sentences is missing."
            ),
            Option("Yes, if BLEU is low as well.", False, "BLEU says nothing about single tags."),
        ],
    ),
    Question(
        id="translation.alignment_row",
        text="The weights of cross-attention, read at the row where a word is *fed in*, agree with the gold alignment "
        "in one of six cases; read one row earlier, in nineteen of twenty. Why?",
        options=[
            Option(
                "A word is chosen one row before it is read.",
                True,
                "The row that predicts it must look at its source word. The next row already plans the next word.",
            ),
            Option("The causal mask hides the first row.", False, "It hides later tokens in self-attention only."),
            Option(
                "BOS has an attention of its own.", False, "It has, and it is the row that predicts the first word."
            ),
            Option("Attention weights are noisy.", False, "Noise would not vanish by reading another row."),
        ],
    ),
]
