"""Questions of chapter 01, sequence to sequence."""

from course_lib.quizzes.engine import Option, Question

SHORT, LONG, HIDDEN = 5, 50, 256

QUESTIONS = [
    Question(
        id="seq2seq.bottleneck",
        text=f"An encoder–decoder without attention reads {SHORT} words, then {LONG} words. Its hidden state has "
        f"{HIDDEN} numbers. How many numbers does the decoder get to start from?",
        options=[
            Option(
                f"{HIDDEN} both times",
                True,
                f"The last hidden state is all that is handed over: ten times the words through the same {HIDDEN} "
                "numbers. This is what attention repairs.",
            ),
            Option(
                f"{SHORT * HIDDEN} and {LONG * HIDDEN}",
                False,
                "That is what attention offers: one vector for every source word. Without it, only the last one is "
                "kept.",
            ),
            Option(
                f"{SHORT} and {LONG}",
                False,
                "The decoder never sees the words themselves, only the encoder's vector.",
            ),
        ],
    ),
    Question(
        id="seq2seq.last_state",
        text="A batch holds sentences of different lengths, padded on the right. Where is a sentence's last hidden "
        "state in the outputs of the recurrent network?",
        options=[
            Option(
                "at index length − 1 of each sentence",
                True,
                "There its last real word has been read. What follows are pads.",
            ),
            Option(
                "at index −1 of each sentence",
                False,
                "For a short sentence that is the state after its pads. The result then depends on which sentences "
                "share the batch.",
            ),
            Option(
                "at index length of each sentence",
                False,
                "Counting starts at 0: that is one pad too far, and out of range for the longest sentence.",
            ),
        ],
    ),
    Question(
        id="seq2seq.teacher_forcing",
        text="What does the decoder read at step t while it is trained with teacher forcing?",
        options=[
            Option(
                "the right word at t − 1",
                True,
                "The right words so far, whatever the model would have said. Its own words are read only when it "
                "translates.",
            ),
            Option(
                "its own guess for the word at t − 1",
                False,
                "That is how it translates after training. In training one early mistake would spoil all that follows.",
            ),
            Option(
                "the right word at t",
                False,
                "That is the word that it must predict. A model that reads it learns to copy, and its loss falls to "
                "0 even on random words.",
            ),
        ],
    ),
    Question(
        id="seq2seq.not_parallel",
        text="Why can a recurrent network not compute all positions of a sentence at once, even in training?",
        options=[
            Option(
                "Each state needs the one before it.",
                True,
                "The states form a chain, as long as the sentence. Knowing all words in advance does not shorten it.",
            ),
            Option(
                "The words that come later are not known in advance.",
                False,
                "In training they are, of the source and of the target. What is missing is the state before.",
            ),
            Option(
                "It has too many parameters.",
                False,
                "The number of parameters does not matter here: the same few matrices are used at every step, one step "
                "after another.",
            ),
        ],
    ),
    Question(
        id="seq2seq.additive_without_tanh",
        text="The additive score is w · tanh(W q + U k). You forget the tanh. What happens to the attention weights?",
        options=[
            Option(
                "They are the same for every query.",
                True,
                "Without it the score is w·W q + w·U k. The first term is the same for all keys, so the softmax "
                "cancels it: the query has no say.",
            ),
            Option(
                "They are the same for every key.",
                False,
                "The term w·U k still differs from key to key. It is the query's term that cancels.",
            ),
            Option(
                "They no longer sum to 1.",
                False,
                "The softmax sees to that, whatever the scores are.",
            ),
            Option(
                "Little, since tanh is nearly linear around 0.",
                False,
                "Even a little bend lets query and key act together. Exactly linear, they only add, and the query's "
                "share cancels.",
            ),
        ],
    ),
    Question(
        id="seq2seq.which_query",
        text="The decoder is about to compute its state sᵢ. Which state asks, as the query of Bahdanau's attention?",
        options=[
            Option(
                "sᵢ₋₁, the state before",
                True,
                "The context that attention returns is an input of sᵢ, so sᵢ does not exist yet.",
            ),
            Option(
                "sᵢ itself",
                False,
                "It is computed from the context, so it comes too late to ask for it. (Luong's later form attends "
                "after the state is computed.)",
            ),
            Option(
                "the encoder's last state",
                False,
                "Then every target word would ask the same question, and get the same context.",
            ),
        ],
    ),
    Question(
        id="seq2seq.source_mask",
        text="Attention over a padded batch of sources has no mask. What goes wrong?",
        options=[
            Option(
                "A sentence's translation depends on how much padding its batch brings.",
                True,
                "Pads get a share of the weight. Alone, or beside longer sentences, the same sentence gives other "
                "results.",
            ),
            Option(
                "Nothing goes wrong: pads have embeddings of zeros, so their scores are zero.",
                False,
                "A score of 0 is still a score: exp(0) = 1 gets its share of the softmax.",
            ),
            Option(
                "The shapes no longer fit.",
                False,
                "They fit, which is why nobody notices. Only the numbers are wrong.",
            ),
        ],
    ),
]
