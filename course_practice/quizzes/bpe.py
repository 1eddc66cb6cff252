"""Questions of chapter 12, byte-pair encoding."""

from course_lib.bpe import apply_merges, merge, pair_counts, train_bpe, word_symbols
from course_practice.quizzes.engine import Option, Question

CLASSIC = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
WORDS = {word_symbols(word): frequency for word, frequency in CLASSIC.items()}
RANKED = [("b", "c</w>"), ("a", "b")]


def _cut(symbols):
    return " | ".join(symbols)


def _saved():
    before = sum(len(symbols) * n for symbols, n in WORDS.items())
    after = sum(len(merge(symbols, ("e", "s"))) * n for symbols, n in WORDS.items())
    return before - after


QUESTIONS = [
    Question(
        id="bpe.guess_lowest",
        text="After 13 merges, each of the four words is a single token. How is `lowest` written?",
        guess=True,
        options=[
            Option(
                _cut(apply_merges("lowest", train_bpe(CLASSIC, 13))),
                True,
                "The corpus has low only as a whole word, where its w carries the mark.",
            ),
            Option(
                "low | est</w>",
                False,
                "It looks natural, but low without a mark is no token.",
            ),
            Option("lowest</w>", False, "No word of the corpus has these letters together, so no merge makes them."),
            Option(
                _cut(word_symbols("lowest")),
                False,
                "These are the characters, before any merge.",
            ),
        ],
    ),
    Question(
        id="bpe.guess_names",
        text="With all the merges that training allows, every training word is one token, and a new name is still "
        "spelled in pieces. How many of the new names does such a translator write correctly?",
        guess=True,
        options=[
            Option(
                "none",
                True,
                "In training no word was ever cut, so the decoder never wrote a name piece by piece.",
            ),
            Option(
                "fewer than with 300 merges, but some of them",
                False,
                "More merges do mean fewer names, but with all merges there is not one left.",
            ),
            Option(
                "about as many as with 300 merges, because the pieces are there",
                False,
                "The pieces are in the vocabulary, but training has never used them.",
            ),
            Option(
                "more than with 300 merges, because sentences are shorter",
                False,
                "Shorter sentences help with known words only.",
            ),
        ],
    ),
    Question(
        id="bpe.saving",
        text=f"In the classic corpus the pair (e, s) occurs {pair_counts(WORDS)['e', 's']} times, never overlapping. "
        "By how many symbols does merging it shorten the corpus?",
        options=[
            Option(f"{_saved()}", True, "Two symbols become one at each place, so each place saves one symbol."),
            Option(
                f"{2 * _saved()}",
                False,
                "At each place two symbols are replaced by one, so only one is saved.",
            ),
            Option("2", False, "The pair stands in two words, but these words occur 6 and 3 times."),
            Option("1", False, "The vocabulary grows by 1. The corpus shrinks at every place where the pair stands."),
        ],
    ),
    Question(
        id="bpe.rank",
        text="The merges are b + c</w> and then a + b, in this order. How is the word abc written?",
        options=[
            Option(
                _cut(apply_merges("abc", RANKED)),
                True,
                "b + c</w> was learned first, so it is applied first. Then no b is left for the second merge.",
            ),
            Option(
                "ab | c</w>",
                False,
                "This begins at the left. The rank of a merge decides, not its place.",
            ),
            Option("abc</w>", False, "That would need a third merge, which joins a and bc</w>."),
            Option("a | b | c</w>", False, "The first merge fits: b and c</w> are neighbors."),
        ],
    ),
    Question(
        id="bpe.mark",
        text="Why does the last character of a word carry the mark </w>?",
        options=[
            Option(
                "so that decoding knows where spaces were",
                True,
                "Tokens are joined without spaces, and each mark becomes one. It also tells est at the end of a word "
                "from est inside one.",
            ),
            Option(
                "so that the model knows where the sentence ends and can stop there",
                False,
                "The token EOS does this. The mark ends words.",
            ),
            Option(
                "so that no merge makes a token longer than the longest word",
                False,
                "Pairs are counted inside words, with a mark or without.",
            ),
            Option(
                "so that unknown characters can be told from known ones",
                False,
                "Unknown characters become bytes. The mark says nothing about them.",
            ),
        ],
    ),
    Question(
        id="bpe.loss",
        text="Model A works with characters and has a loss of 0.7 a token. Model B works with words and has 1.5 a "
        "token. Which one gives the sentences a higher probability?",
        options=[
            Option(
                "It cannot be said from these numbers.",
                True,
                "A sentence has about four times as many characters as words here. Compare the loss of a sentence: "
                "the sum over its tokens.",
            ),
            Option(
                "Model A, because its loss is lower.",
                False,
                "The loss of a sentence is the sum over its tokens, and A has many more of them.",
            ),
            Option(
                "Model B, because words carry more meaning.",
                False,
                "It may be B, but only the sum over the tokens of a sentence can tell.",
            ),
            Option(
                "Model A, because it has the smaller vocabulary, and fewer choices mean less uncertainty.",
                False,
                "Fewer choices make each token easier, but there are more tokens to guess.",
            ),
        ],
    ),
    Question(
        id="bpe.ids",
        text="A translator worked well yesterday. Today its output is a jumble of real words, without any error. "
        "Its weights are the same. What happened?",
        options=[
            Option(
                "The tokenizer was trained anew on other text.",
                True,
                "Two trainings share most merges, but few ids. The weights belong to the old ids. Save the tokenizer "
                "with the model.",
            ),
            Option(
                "The text has characters that the tokenizer has never seen.",
                False,
                "They become bytes, which would spoil only their own words.",
            ),
            Option(
                "The merges were applied to sentences in another order.",
                False,
                "Each word is encoded by itself, so the order of the sentences does not matter.",
            ),
            Option(
                "The vocabulary is too small for the new sentences.",
                False,
                "A smaller vocabulary makes more tokens of a sentence, but they decode to the same text.",
            ),
        ],
    ),
    Question(
        id="bpe.nfd",
        text="A file of Korean text looks normal on the screen, but has thirteen times as many tokens as usual. What "
        "should you try first?",
        options=[
            Option(
                "normalize the text to NFC",
                True,
                "In the decomposed form (NFD) each syllable is written as two or three letters, which training has "
                "never seen, so that each of them becomes three bytes.",
            ),
            Option(
                "train the tokenizer with more merges",
                False,
                "The merges are made of syllables, and the file has none.",
            ),
            Option(
                "remove the mark at the end of each word",
                False,
                "There is one mark for each word, and the file has no more words than usual.",
            ),
            Option(
                "replace unknown characters by <unk>",
                False,
                "The count would fall, but all the letters are unknown, so no text would be left.",
            ),
        ],
    ),
    Question(
        id="bpe.unknown",
        text="`BPE` of this course meets a character that training has never seen. What becomes of it?",
        options=[
            Option(
                "its UTF-8 bytes, each a token",
                True,
                "All 256 bytes are in the vocabulary from the beginning, so that every text comes back exactly.",
            ),
            Option(
                "it is left out",
                False,
                "Some tokenizers do this if they are built without an unknown token. Text is then lost silently.",
            ),
            Option(
                "the token <unk>, which stands for all unknown characters",
                False,
                "Then decoding could not give the character back. Here the bytes are kept.",
            ),
            Option(
                "a new token, which is added to the vocabulary",
                False,
                "The vocabulary is fixed after training, because the model has one row of its embedding for each id.",
            ),
        ],
    ),
    Question(
        id="bpe.ties",
        text="Two correct implementations learn different merges from the same text. How is this possible?",
        options=[
            Option(
                "Several pairs were equally common.",
                True,
                "The algorithm does not say which of them comes first. Each library has its own rule for ties.",
            ),
            Option(
                "Training begins with random numbers.",
                False,
                "Byte-pair encoding has no random part. It counts.",
            ),
            Option(
                "One of them counted pairs in another order of the sentences.",
                False,
                "A sum does not depend on the order of its terms. Order can matter only where two counts are equal.",
            ),
            Option(
                "One of them stopped later, so that its first merges had more time to change.",
                False,
                "Merges never change afterward: a longer list begins with the shorter one.",
            ),
        ],
    ),
    Question(
        id="bpe.scaffolding",
        text="Some tokens of a trained vocabulary never occur when the training text itself is encoded. Why?",
        options=[
            Option(
                "They were only steps toward longer tokens.",
                True,
                "The character 생 is needed to make 학생 (student), and then every 생 of the text is part of a longer "
                "token. As an input, its embedding never gets a gradient.",
            ),
            Option(
                "They come from words of the test text.",
                False,
                "Merges are learned from the training text alone.",
            ),
            Option(
                "Their pairs were counted wrongly, because they overlapped.",
                False,
                "Overlaps can make a count too high by a few, but these tokens come from honest counts.",
            ),
            Option(
                "They are too long to be part of any word.",
                False,
                "Every merge joins two symbols that stood side by side in a word.",
            ),
        ],
    ),
]
