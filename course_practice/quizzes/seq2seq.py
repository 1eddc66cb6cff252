"""Questions of chapter 01, sequence to sequence."""

from course_practice.quizzes.engine import Option, Question

SHORT, LONG, HIDDEN = 5, 50, 256

QUESTIONS = [
    Question(
        id="seq2seq.bottleneck",
        text=f"An encoder–decoder without attention reads a sentence of {SHORT} words, and then one of {LONG} words. "
        f"Its hidden state has {HIDDEN} numbers. How many numbers does the decoder start from?",
        options=[
            Option(
                f"{HIDDEN} and {HIDDEN}",
                True,
                f"Only the last hidden state is handed over, so ten times the words have to fit into the same {HIDDEN} "
                "numbers. Attention changes this.",
            ),
            Option(
                f"{SHORT * HIDDEN} and {LONG * HIDDEN}",
                False,
                "Attention offers that: one vector for every source word. Without attention, only the last one is "
                "kept.",
            ),
            Option(
                f"{SHORT} and {LONG}",
                False,
                "The decoder does not see the words themselves, only the vector that the encoder made of them.",
            ),
        ],
    ),
    Question(
        id="seq2seq.last_state",
        text="A batch holds sentences of different lengths, padded on the right, and is not packed. Where do you find "
        "a sentence's last hidden state?",
        options=[
            Option(
                "in the outputs at index length − 1",
                True,
                "There the network has read the last real word. What follows are pads.",
            ),
            Option(
                "in the outputs at index −1, the last one",
                False,
                "For a short sentence that is the state after its pads, so it depends on which sentences share the "
                "batch.",
            ),
            Option(
                "in the outputs at index length, where the words end",
                False,
                "Counting starts at 0, so this is one pad too far, and out of range for the longest sentence.",
            ),
            Option(
                "in `h_n`, beside the outputs",
                False,
                "That is the right state of a *packed* batch. Without packing it is the state after all the pads.",
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
                "It reads the right words so far, whatever it would have written. It reads its own words only when it "
                "translates.",
            ),
            Option(
                "its own word at t − 1",
                False,
                "It does so when it translates, after the training.",
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
                "Each state needs the state before it.",
                True,
                "The states form a chain as long as the sentence, and knowing all the words in advance does not "
                "shorten it.",
            ),
            Option(
                "The later words are not known.",
                False,
                "In training all words are known, those of the source and those of the target. What is missing is the "
                "previous state.",
            ),
            Option(
                "Its gradients must be computed from the end to the start.",
                False,
                "They must, but that is the way back. The forward pass already is a chain.",
            ),
        ],
    ),
    Question(
        id="seq2seq.additive_without_tanh",
        text="The additive score is tanh(q W_q + k W_k) · u. You forget the tanh. What happens to the attention "
        "weights?",
        options=[
            Option(
                "They are the same for every query.",
                True,
                "The score is now q W_q · u + k W_k · u. Its first term is the same for all keys, so the softmax "
                "cancels it, and the query no longer matters.",
            ),
            Option(
                "They are the same for every key.",
                False,
                "The term k W_k · u still differs from key to key. It is the query's term that cancels.",
            ),
            Option(
                "They no longer sum to 1, because scores are unbounded.",
                False,
                "The softmax makes them sum to 1, whatever the scores are.",
            ),
            Option(
                "They change little, because tanh is nearly linear around 0.",
                False,
                "Even a slight bend lets query and key act together. In an exactly linear score they only add up, and "
                "the query's term cancels.",
            ),
        ],
    ),
    Question(
        id="seq2seq.which_query",
        text="The decoder is about to compute its state sᵢ. Which state is the query of Bahdanau's attention?",
        options=[
            Option(
                "sᵢ₋₁, the state before",
                True,
                "The context that attention returns is an input of sᵢ, so sᵢ does not exist yet.",
            ),
            Option(
                "sᵢ itself, the current state",
                False,
                "It is computed from the context, so it cannot ask for it. (Luong's attention comes after the state "
                "and uses sᵢ.)",
            ),
            Option(
                "the encoder's last state",
                False,
                "Then every target word would have the same query, and so the same context.",
            ),
        ],
    ),
    Question(
        id="seq2seq.source_mask",
        text="Attention over a padded batch of sources has no mask, and the pads' states are not zero. What goes "
        "wrong?",
        options=[
            Option(
                "A translation depends on the other sentences in its batch.",
                True,
                "Pads get a share of the weight, and the longest sentence of the batch decides how many there are.",
            ),
            Option(
                "The weights of a padded sentence no longer sum to 1.",
                False,
                "The softmax makes them sum to 1, but a part of that sum is on pads.",
            ),
            Option(
                "Nothing, because training teaches the model to ignore pads.",
                False,
                "It may learn to give them small weights. With more pads than in training, those add up again.",
            ),
            Option(
                "The shapes of queries and keys no longer fit.",
                False,
                "They fit, and so the mistake is silent: only the numbers are wrong.",
            ),
        ],
    ),
    Question(
        id="seq2seq.guess_cliff",
        text="A model with one vector is trained on sequences of 1 to 12 symbols. Of new sequences of 12 symbols, how "
        "many does it reverse without a mistake?",
        guess=True,
        options=[
            Option(
                "nearly all",
                False,
                "It has met this length in training as often as any other, and yet it fails.",
            ),
            Option(
                "about one in two",
                False,
                "One in two is reached much earlier: at five to nine symbols, depending on the width.",
            ),
            Option(
                "hardly any",
                True,
                "It has met this length in training as often as any other, and yet nearly all are lost. One in two is "
                "lost at five to nine symbols, depending on the width.",
            ),
        ],
    ),
    Question(
        id="seq2seq.guess_digits",
        text="A single float32 number h reads digits: h ← 10 · h + digit. How many random digits can it take in before "
        "reading them back fails?",
        guess=True,
        options=[
            Option(
                "1, for one number holds one symbol",
                False,
                "With each digit the ones before move up by one place, and all of them can be read off.",
            ),
            Option("7", True, "Whole numbers are exact up to 2²⁴, which is about 17 million."),
            Option(
                "32, one for each bit",
                False,
                "A digit takes 3.3 bits, and only 24 of the bits hold digits of the number.",
            ),
        ],
    ),
    Question(
        id="seq2seq.guess_without_tanh",
        text="You leave the tanh out. Which of the four queries still gets the row of weights that it had?",
        guess=True,
        options=[
            Option(
                "all four, because tanh is monotone",
                False,
                "A monotone bend keeps the order of single numbers. A score is a sum of several, each bent by itself.",
            ),
            Option(
                "none, and all rows are equal",
                True,
                "Without the bend the query adds one and the same number to all scores, and the softmax cancels it.",
            ),
            Option(
                "those with small entries, where tanh is nearly a line",
                False,
                "The keys reach far enough from zero to leave the line, whatever the query is.",
            ),
        ],
    ),
    Question(
        id="seq2seq.longer_training",
        text="The model with one vector fails from seven symbols on. You train it for six times as many updates. What "
        "happens?",
        options=[
            Option(
                "It fails from about eleven symbols on.",
                True,
                "The cliff moves, so the width of the vector did not set it. Packing and unpacking is slow to learn.",
            ),
            Option(
                "Nothing: seven symbols is what the vector can hold.",
                False,
                "One number alone can hold seven digits, and this vector has 32 numbers.",
            ),
            Option(
                "It learns the training sequences by heart, and gets worse on new ones.",
                False,
                "Each batch is drawn anew, so there is nothing to learn by heart.",
            ),
        ],
    ),
    Question(
        id="seq2seq.too_good",
        text="After two minutes of training the loss of your translator is 0.001. But what it writes has nothing to do "
        "with the source. What do you suspect first?",
        options=[
            Option(
                "The decoder's input is not shifted.",
                True,
                "It reads the word that it must predict. In use that word does not exist yet, and the source was never "
                "needed.",
            ),
            Option(
                "The source has no mask, so that attention looks at pads.",
                False,
                "Then it would use the source less well, which makes the loss higher, not lower.",
            ),
            Option(
                "The vector between encoder and decoder is too narrow for such sentences.",
                False,
                "A narrow vector makes the loss high, in training too.",
            ),
            Option(
                "EOS is missing in the targets.",
                False,
                "Then it would not stop, but what it writes would still belong to the source.",
            ),
        ],
    ),
    Question(
        id="seq2seq.equal_weights",
        text="You hand the decoder all states of the encoder, but as their plain mean, the same at every step. What do "
        "you get?",
        options=[
            Option(
                "nearly what one vector gives",
                True,
                "We measured it: the curve falls at nearly the same length. What helps is to choose anew at each step.",
            ),
            Option(
                "nearly what attention gives",
                False,
                "The information is all there, but mixed in the same way at every step. The curve hardly moves.",
            ),
            Option(
                "something between the two",
                False,
                "One might hope so, since every state has a short way to the decoder. The curve hardly moves.",
            ),
        ],
    ),
]
