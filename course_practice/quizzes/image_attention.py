"""Questions of chapter 06, attention over images."""

from course_practice.quizzes.engine import Option, Question

ROW, COLUMN, WIDTH, HEIGHT = 3, 1, 7, 5
TOKEN = ROW * WIDTH + COLUMN
PIXELS = HEIGHT * WIDTH
SIDE, LARGER = 16, 32

QUESTIONS = [
    Question(
        id="image_attention.guess_lamp",
        text="With three layers of 3×3, at which tiles will the network be right?",
        guess=True,
        options=[
            Option(
                "nearly everywhere, if it is trained long enough",
                False,
                "What lies outside of its reach cannot change its output, however long the training is.",
            ),
            Option(
                "ever less often, the farther away the tile is",
                False,
                "Within the reach all distances are learned, and beyond it there is nothing to learn from.",
            ),
            Option(
                "in a square of 7 × 7 tiles around the lamp",
                True,
                "Each layer reaches one tile farther in each direction, so three layers see three tiles far.",
            ),
            Option(
                "in a square of 3 × 3 tiles around the lamp",
                False,
                "That is the reach of one layer. The second reads what the first has seen.",
            ),
        ],
    ),
    Question(
        id="image_attention.token_number",
        text=f"An image has {HEIGHT} rows and {WIDTH} columns. Which token is the pixel in row {ROW} and column "
        f"{COLUMN}, counted from 0?",
        options=[
            Option(
                str(ROW * HEIGHT + COLUMN),
                False,
                f"That is row · height + column. A row has as many pixels as there are columns, {WIDTH}.",
            ),
            Option(
                str(COLUMN * HEIGHT + ROW),
                False,
                "That counts column after column. `flatten` reads row after row.",
            ),
            Option(
                str(TOKEN),
                True,
                f"{ROW} whole rows of {WIDTH} pixels come before its row, and {COLUMN} pixel stands before it there.",
            ),
            Option(
                str(TOKEN + 1),
                False,
                "That would be right if tokens were counted from 1.",
            ),
        ],
    ),
    Question(
        id="image_attention.weights_shape",
        text=f"A batch of 2 feature maps has the shape (2, 16, {HEIGHT}, {WIDTH}), and d_k is 8. Which shape do the "
        "attention weights have?",
        options=[
            Option(
                "(2, 16, 16)",
                False,
                "Then channels would attend to channels. The pixels are the tokens.",
            ),
            Option(
                f"(2, {PIXELS}, {PIXELS})",
                True,
                f"Each of the {HEIGHT} · {WIDTH} = {PIXELS} pixels has a weight for each of them.",
            ),
            Option(
                f"(2, {HEIGHT}, {WIDTH})",
                False,
                "That is one weight a pixel. Every pixel has a row of weights of its own.",
            ),
            Option(
                f"(2, {PIXELS}, 8)",
                False,
                "That is the shape of the queries and of the keys.",
            ),
        ],
    ),
    Question(
        id="image_attention.reach",
        text="How many 3×3 layers, without dilation, must follow one another until the top left corner of a 12 × 12 "
        "map can change the output at the bottom right?",
        options=[
            Option(
                "12",
                False,
                "One less is enough, because the way from row 0 to row 11 has 11 steps.",
            ),
            Option(
                "6",
                False,
                "After six layers each pixel sees a square of 13 × 13, but it lies in the middle of that square.",
            ),
            Option("4", False, "That would be right if the reach doubled with every layer, as with dilation."),
            Option("11", True, "Each layer reaches one row and one column farther, and the corners lie 11 apart."),
        ],
    ),
    Question(
        id="image_attention.empty_query",
        text="In a trained block, someone sets W_Q and its bias to 0. What does the block now compute for each pixel?",
        options=[
            Option(
                "the same for all: the mean of the values of all pixels is added",
                True,
                "All scores are 0, so all weights are equal. This is global pooling.",
            ),
            Option(
                "its input, unchanged",
                False,
                "That is what γ = 0 does. With equal weights, the mean of all values is still added.",
            ),
            Option(
                "its own value is added",
                False,
                "For that, its weight on itself would have to be 1. With a query of 0 all weights are equal.",
            ),
            Option(
                "NaN, because a row has nothing to see",
                False,
                "Nothing is hidden here. A softmax over equal scores is uniform.",
            ),
        ],
    ),
    Question(
        id="image_attention.gamma_zero",
        text="A colleague writes the block, checks that it returns its input when it is new, and that all shapes are "
        "right. In training, it is worse than without attention. What should be checked first?",
        options=[
            Option(
                "whether γ is still 0, because only then is the block right",
                False,
                "At γ = 0 the block does nothing. It has to leave 0 to be of use.",
            ),
            Option(
                "the block's output at γ = 1, against another implementation",
                True,
                "At γ = 0 every block returns its input, even one that mixes up pixels and channels.",
            ),
            Option(
                "the shapes again, this time with a square image",
                False,
                "Square images hide mistakes: height and width can be exchanged without any error.",
            ),
            Option(
                "the sign of γ, which has to be positive",
                False,
                "The sign means nothing: W_O can turn it around.",
            ),
        ],
    ),
    Question(
        id="image_attention.side_doubled",
        text=f"The side of a square feature map grows from {SIDE} to {LARGER}. By which factor does the table of "
        "weights grow?",
        options=[
            Option("2", False, "That is the factor of the side."),
            Option("4", False, "That is the factor of the number of pixels. The table is pixels × pixels."),
            Option("8", False, "The table has pixels × pixels entries, and the pixels grow by a factor of 4."),
            Option(
                str((LARGER / SIDE) ** 4).removesuffix(".0"),
                True,
                f"From {SIDE**4:,} to {LARGER**4:,} entries: four times the queries, and four times the keys.",
            ),
        ],
    ),
    Question(
        id="image_attention.new_pairs",
        text="On boards with three names, a network with global pooling is right at nearly all tiles in training and "
        "in a test of the same kind, but at few tiles whose pair of frame and color is new. What has it learned?",
        options=[
            Option(
                "which frames go with which colors: a table with an entry for each pair",
                True,
                "The layers behind the mean learned to read each pair of training from it, one by one. A "
                "new pair has no entry.",
            ),
            Option(
                "the boards of the training by heart",
                False,
                "Every board is new, in training, too, and it does well on boards that it has not seen.",
            ),
            Option(
                "where on the board the tiles lie",
                False,
                "A mean over all pixels is the same wherever they lie.",
            ),
            Option(
                "to copy the color that it finds, but not well enough",
                False,
                "Copying would work for a new pair as it does for the known ones.",
            ),
        ],
    ),
    Question(
        id="image_attention.shuffled_border",
        text="A network has a 3×3 convolution with zero padding, and then the attention block. An image has one color. "
        "Are all pixels of the result equal?",
        options=[
            Option(
                "Yes, because attention treats the image as a set.",
                False,
                "The block does, but the convolution before it has already made the border different.",
            ),
            Option(
                "No, because padding makes the border unlike the middle.",
                True,
                "A pixel at the border has neighbors that are 0, so the convolution tells it where it is. The block "
                "passes this on.",
            ),
            Option(
                "No, because the attention weights depend on the distance.",
                False,
                "No score depends on the distance. The difference comes from the convolution.",
            ),
        ],
    ),
]
