"""Questions of chapter 10, the decoder."""

import math

from course_practice.quizzes.engine import Option, Question

N_FORMS, N_TOKENS = 3, 4
ALONE, TOGETHER = N_TOKENS * math.log(N_FORMS), math.log(N_FORMS)

QUESTIONS = [
    Question(
        id="decoder.why_in_order",
        text="A model writes all words of a sentence in one pass, each without knowing the others. When does it fail?",
        options=[
            Option(
                "when the source has several right translations",
                True,
                "Each word is then chosen for another sentence, as in *Danke Dank*.",
            ),
            Option(
                "always, because such a decoder has too few parameters",
                False,
                "With a single right answer, the same decoder with the same parameters writes nearly everything right.",
            ),
            Option(
                "when sentences are longer than those in the training data",
                False,
                "That may be a difficulty as well, but the failure of this chapter appears at the trained length.",
            ),
            Option(
                "never, if it is trained until the loss no longer falls",
                False,
                "The loss stops at the sum of the entropies of the single words. No such model can get below it.",
            ),
        ],
    ),
    Question(
        id="decoder.one_right_answer",
        text=f"Every sentence has {N_FORMS} equally likely right forms and {N_TOKENS} words, and the form shows "
        "in each word. How many nats does a sentence cost at least: if each word is written for itself, and if each "
        "reads the words before?",
        options=[
            Option(
                f"{ALONE:.2f} and {TOGETHER:.2f}",
                True,
                f"For itself, each of the {N_TOKENS} words costs ln {N_FORMS}. In order, the first one decides and the "
                "others cost nothing.",
            ),
            Option(
                f"{ALONE:.2f} and {ALONE:.2f}",
                False,
                "The words after the first can read which form was chosen, so they cost nothing.",
            ),
            Option(
                f"{TOGETHER:.2f} and 0.00",
                False,
                "Nothing tells the first word which form to take, so even in order it costs something.",
            ),
            Option(
                f"{TOGETHER:.2f} and {TOGETHER / N_TOKENS:.2f}",
                False,
                "Each word that is written for itself pays for the form again, and costs add up over a sentence.",
            ),
        ],
    ),
    Question(
        id="decoder.guess_strict",
        text="Input and labels are the same random words, and the mask `tril(-1)` hides each token from itself. Where "
        "does the loss end, if the floor is ln 10 = 2.30?",
        guess=True,
        options=[
            Option(
                "far below the floor, near 0",
                True,
                "The token does not need attention to reach its own output: the residual stream carries it there.",
            ),
            Option(
                "at the floor, because no token sees itself",
                False,
                "No token sees itself *as a key or value*. Which other ways lead from the input to the output?",
            ),
            Option(
                "above the floor, because row 0 is empty",
                False,
                "`masked_softmax` makes the empty row zeros, so nothing breaks there.",
            ),
        ],
    ),
    Question(
        id="decoder.shift",
        text="The target is `7 8 9`. What does the decoder read at the position where it must write 9?",
        options=[
            Option("8, having read BOS and 7 before", True, "`tgt_in` is BOS 7 8 9, and `tgt_out` is 7 8 9 EOS."),
            Option(
                "9, which the mask hides from attention",
                False,
                "Then the residual stream would carry 9 to the output. The input is shifted by one.",
            ),
            Option(
                "the word that it has written there itself",
                False,
                "In training it reads the right words, whatever it would have written (teacher forcing).",
            ),
            Option("7, because BOS takes up one position", False, "Here the shift was made twice."),
        ],
    ),
    Question(
        id="decoder.roles",
        text="In cross-attention, there are 5 target tokens and 8 source tokens. Which is true?",
        options=[
            Option(
                "5 queries, 8 keys, and 8 values, so there are 5 outputs",
                True,
                "The target asks, and each output is a weighted mean of what the memory holds.",
            ),
            Option(
                "8 queries, 5 keys, and 5 values, so there are 8 outputs",
                False,
                "The roles are exchanged: each *target* position needs an output, from which a word is predicted.",
            ),
            Option(
                "5 queries, 8 keys, and 5 values, so there are 5 outputs",
                False,
                "Each key has its value: both come from the same 8 source tokens.",
            ),
            Option(
                "13 queries, keys, and values, as both are laid side by side",
                False,
                "Some models of today do that, but it is self-attention over both sequences.",
            ),
        ],
    ),
    Question(
        id="decoder.which_mask",
        text="Which of these belong to a decoder layer?",
        many=True,
        options=[
            Option(
                "a causal mask in the self-attention",
                True,
                "In training the later words are part of the input, so they must be hidden.",
            ),
            Option(
                "the source's padding mask in the cross-attention",
                True,
                "Otherwise a translation depends on how many pads its source got.",
            ),
            Option(
                "a causal mask in the cross-attention",
                False,
                "The source is finished before the first word is written, so every position may see all of it.",
            ),
            Option(
                "a mask that hides each word from itself",
                False,
                "The word read at a position is not the one to be written there, because the input is shifted.",
            ),
        ],
    ),
    Question(
        id="decoder.parallel",
        text="A target has 20 tokens, EOS included. How often does the decoder run, in training and in writing?",
        options=[
            Option(
                "once and 20 times",
                True,
                "In training all inputs are known beforehand. In writing each step needs the word of the step before.",
            ),
            Option(
                "20 times and 20 times",
                False,
                "With the causal mask, one pass computes all 20 positions as if each were alone with its past.",
            ),
            Option("once and once", False, "In writing, the input of step 2 is not known before step 1 is done."),
            Option("20 times and once", False, "It is the other way round: what is known beforehand can be parallel."),
        ],
    ),
    Question(
        id="decoder.shuffled_memory",
        text="You shuffle the rows of the memory, and its mask alike. What does a trained decoder write?",
        options=[
            Option(
                "the same as before",
                True,
                "Attention does not see in which row a vector stands. Positions travel inside the vectors.",
            ),
            Option(
                "the same words in another order",
                False,
                "You would get this by shuffling the source *words*, before the encoder adds positions.",
            ),
            Option(
                "words that have nothing to do with the source",
                False,
                "All vectors of the memory are still there, and each is found by its key.",
            ),
            Option(
                "an error, because positions do not match",
                False,
                "There is nothing to match: the cross-attention gets no positions of its own.",
            ),
        ],
    ),
    Question(
        id="decoder.missing_first_word",
        text="A translator has a very low loss, but every sentence it writes lacks its first word. What is wrong?",
        options=[
            Option(
                "The labels are shifted twice.",
                True,
                "At BOS it was asked for the second word, and so on. The loss is low because the task can be learned.",
            ),
            Option(
                "The labels are not shifted.",
                False,
                "Then it would repeat what it reads, beginning with BOS.",
            ),
            Option(
                "The causal mask is missing.",
                False,
                "Then it would rely on words that are not there in use, and write nonsense from the first word on.",
            ),
            Option(
                "BOS is missing from the vocabulary.",
                False,
                "An id that the embedding lacks raises an error.",
            ),
        ],
    ),
    Question(
        id="decoder.too_good",
        text="A new decoder has the validation loss 0.01 after one epoch, and what it writes is nonsense. The causal "
        "mask of the self-attention is right. What do you look at next?",
        many=True,
        options=[
            Option(
                "whether input and labels are shifted",
                True,
                "The residual stream carries an unshifted token around every mask.",
            ),
            Option(
                "the axis of the softmax in the cross-attention",
                True,
                "Over the queries, later target positions change earlier ones, although the causal mask is right.",
            ),
            Option(
                "whether the learning rate is too small",
                False,
                "A small rate makes the loss fall slowly. This loss has fallen too far.",
            ),
            Option(
                "the size of the memory",
                False,
                "A memory of another size could make the loss high. It does not explain a loss that is too good.",
            ),
        ],
    ),
    Question(
        id="decoder.cut",
        text="You set the cross-attention of a trained model to zero, and the loss rises from 0.0 to 5. A model "
        "trained without it reaches 2.2. What does cross-attention contribute?",
        options=[
            Option(
                "2.2 nats",
                True,
                "That is the difference to the best one can do without it. The rest of the rise is damage to parts "
                "that rely on it.",
            ),
            Option(
                "5 nats",
                False,
                "The cut model is confidently wrong, which costs more than not knowing.",
            ),
            Option(
                "2.8 nats",
                False,
                "That is the damage beyond the contribution: how much worse a cut model is than one that never had it.",
            ),
            Option(
                "nothing can be said without more seeds",
                False,
                "Seeds say how far these numbers scatter. Here the question is which of the numbers is meant.",
            ),
        ],
    ),
]
