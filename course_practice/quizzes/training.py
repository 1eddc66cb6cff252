"""Questions of chapter 14, training."""

import math

from course_lib.training import noam
from course_practice.quizzes.engine import Option, Question

WORDS = 482
SHARES = [0.9 + 0.1 / WORDS] + [0.1 / WORDS] * (WORDS - 1)
FLOOR = -sum(share * math.log(share) for share in SHARES)
PEAK = noam(4000, 512, 4000)


QUESTIONS = [
    Question(
        id="training.guess_plain",
        text="A right machine, 300 batches, PyTorch's default learning rate of 0.001. What share of the validation "
        "sentences is right in every word, with SGD and with Adam?",
        guess=True,
        options=[
            Option(
                "hardly any with either",
                True,
                "Adam's loss is lower, but neither gets more than a few sentences right.",
            ),
            Option(
                "half with either",
                False,
                "That takes another learning rate.",
            ),
            Option(
                "hardly any with SGD, half with Adam",
                False,
                "Adam is further, but not that far.",
            ),
        ],
    ),
    Question(
        id="training.guess_floor",
        text="Training loss 1.3 with smoothing 0.1, validation loss 0.5 without. 482 words. Is something wrong?",
        guess=True,
        options=[
            Option("Yes: the validation sentences leak.", False, "They do not: the two losses measure other things."),
            Option(
                "Yes: dropout was left on in training.",
                False,
                "There is no dropout here.",
            ),
            Option(
                "No: the smoothing alone costs most of it.",
                True,
                f"Even a perfect model pays {FLOOR:.2f} nats a token when the target has only nine tenths.",
            ),
            Option(
                "No: validation sentences are easier.",
                False,
                "They come from the same grammar.",
            ),
        ],
    ),
    Question(
        id="training.guess_scale",
        text="Adam's three steps were 1, 1/3, and 5/7. All gradients become 1,000 times as large. The steps?",
        guess=True,
        options=[
            Option("1,000 times as long", False, "That is how SGD behaves."),
            Option("1,000 times as short", False, "The root grows, but the mean above it grows as much."),
            Option("the same", True, "The factor stands above and below the line, and cancels."),
            Option("√1,000 times as long", False, "The root is taken of squares."),
        ],
    ),
    Question(
        id="training.guess_spoiled",
        text="Adam without clipping, one update of 300 with gradients 10,000 times too large. At the end?",
        guess=True,
        options=[
            Option(
                "As if nothing had happened, since Adam ignores the size of gradients.",
                False,
                "It ignores a factor in *all* gradients. A single one stays in its averages.",
            ),
            Option(
                "A little worse, by the updates it takes to recover",
                False,
                "Two hundred good updates do not bring it back.",
            ),
            Option("Ruined", True, "The loss ends above 3, where the untouched training reaches about 0.5."),
        ],
    ),
    Question(
        id="training.guess_rank",
        text="Five parts are taken out of the recipe at once: warm-up, cosine, clipping, smoothing, and the faster β₂. "
        "The rate is chosen anew. What happens to the share of sentences that are right?",
        guess=True,
        options=[
            Option("It falls below one half.", False, "A natural guess, but not what these 300 updates show."),
            Option("It falls, but by less than 10 points.", False, "Look at the five seeds: it does not fall."),
            Option("It does not fall.", True, "Here the rate is what counts."),
        ],
    ),
    Question(
        id="training.second_step",
        text="With both β = ½, Adam has seen the gradient 4, and then −4. Which way does the second step go?",
        options=[
            Option(
                "against the second gradient, as the first went against the first",
                True,
                "m was 2 and is now 1 − 2 = −1, so the newer gradient outweighs the older one.",
            ),
            Option("nowhere, since the two cancel", False, "The newer one counts more: m = ½ · 2 + ½ · (−4) = −1."),
            Option(
                "on in the direction of the first step",
                False,
                "That happens if the second gradient is small. Here m = ½ · 2 + ½ · (−4) = −1 has turned.",
            ),
        ],
    ),
    Question(
        id="training.checkpoint",
        text="A checkpoint holds weights, Adam's averages, and settings. A continued run ends with other weights than "
        "an uninterrupted one. What was forgotten?",
        options=[
            Option(
                "the place in the training data",
                True,
                "The continued run begins its epoch anew, with batches that were seen already.",
            ),
            Option("the learning rate", False, "It follows from the settings and from the number of the update."),
            Option("the last gradients", False, "They are cleared before every update, and computed anew."),
            Option(
                "the validation loss",
                False,
                "It is measured and changes no weight.",
            ),
        ],
    ),
    Question(
        id="training.noam_peak",
        text="Paper's schedule, d_model = 512, 4,000 updates of warm-up. A colleague's peak is 0.0158. What is wrong?",
        options=[
            Option(
                f"The factor 1/√512 is missing: the peak should be {PEAK:.1e}.",
                True,
                "0.0158 is 1/√4,000. The factor makes it 22.6 times smaller.",
            ),
            Option("Nothing: the peak is 1/√4,000.", False, "That is what stands inside the minimum."),
            Option(
                "The schedule was asked once an epoch.",
                False,
                "Then the peak would be reached much later, but it would be as high as the formula says.",
            ),
            Option("The updates were counted from 0.", False, "That shifts the curve by one update."),
        ],
    ),
    Question(
        id="training.smoothing_off",
        text="Smoothing is switched off, and the validation loss falls by a quarter. The share of right words stays as "
        "it was. What has changed?",
        options=[
            Option(
                "how sure the model is of its words",
                True,
                "Smoothing asks for nine tenths and no more. Without it the likeliest word gets a higher probability.",
            ),
            Option(
                "what the model has understood of the sentences",
                False,
                "Then other words would come first, and the share of right words would change.",
            ),
            Option(
                "only the scale in which the loss is measured",
                False,
                "Both were measured in the same way, without smoothing.",
            ),
        ],
    ),
    Question(
        id="training.ablation",
        text="“Without warm-up our loss rose from 0.51 to 0.63, so warm-up is worth 0.12.” Both runs used the rate "
        "that had been tuned with warm-up. What is missing?",
        options=[
            Option(
                "The rate must be tuned again without warm-up.",
                True,
                "Without warm-up a lower rate may do, and then part of the loss comes back.",
            ),
            Option(
                "Both runs must be twice as long.",
                False,
                "Longer runs answer another question. At equal length the comparison is unfair by its rate.",
            ),
            Option(
                "The loss must be measured with smoothing.",
                False,
                "Without smoothing it is the plain surprise of the targets, as it should be.",
            ),
            Option("Nothing: all else was equal.", False, "All else was equal, and suited only one of the two."),
        ],
    ),
    Question(
        id="training.sum_for_mean",
        text="By mistake, the loss is the sum over 150 tokens and not their mean. There is no clipping. What changes?",
        options=[
            Option(
                "Adam's steps hardly, SGD's by a factor of 150",
                True,
                "Adam divides by the size of the gradients, so a common factor cancels.",
            ),
            Option(
                "both optimizers' steps by a factor of 150",
                False,
                "SGD multiplies the gradient by the rate. Adam divides it by its own typical size first.",
            ),
            Option(
                "neither, since both follow the direction alone",
                False,
                "SGD follows the gradient itself, with its size.",
            ),
            Option(
                "SGD's hardly, Adam's by a factor of 150",
                False,
                "It is the other way round: Adam is the one that divides by the gradients' size.",
            ),
        ],
    ),
    Question(
        id="training.deaf",
        text="After a spike, a training without clipping stands still for hundreds of updates. The gradients are "
        "normal again. What holds it?",
        options=[
            Option(
                "the average of the squares, which forgets slowly",
                True,
                "It is the divisor, and with β₂ = 0.999 it takes thousands of updates to shrink.",
            ),
            Option(
                "the average of the gradients, which still points to the spike",
                False,
                "That one forgets within some ten updates.",
            ),
            Option(
                "the learning rate, which the spike has lowered",
                False,
                "The schedule knows the number of the update and nothing of the gradients.",
            ),
            Option(
                "the weights, which the spike has made infinite",
                False,
                "Adam's step was no longer than usual, so the weights are ordinary numbers.",
            ),
        ],
    ),
    Question(
        id="training.micro_batches",
        text="A large batch is split into four small ones, by length. Each gives the mean loss of its tokens, and the "
        "four gradients are averaged. Whose gradient is it?",
        options=[
            Option(
                "that of a loss in which tokens of short sentences count more",
                True,
                "The batch of short sentences has few tokens, and yet a quarter of the say.",
            ),
            Option(
                "that of the whole batch",
                False,
                "Only if all four have the same number of real tokens.",
            ),
            Option(
                "that of the whole batch, divided by four",
                False,
                "The averaging has taken care of the four. The tokens' shares are wrong.",
            ),
            Option(
                "that of a loss in which tokens of long sentences count more",
                False,
                "It is the other way round: many tokens share the quarter of the long ones.",
            ),
        ],
    ),
    Question(
        id="training.guess_continued",
        text="Killed in update 33, continued from the checkpoint of update 20, trained to update 60 with dropout. "
        "How far apart are the weights from those of a run without a break?",
        guess=True,
        options=[
            Option(
                "not at all: equal to the last bit",
                True,
                "All that an update depends on is stored, or follows from its number.",
            ),
            Option(
                "in the last digits, as with every floating-point sum",
                False,
                "The same sums in the same order give the same bits.",
            ),
            Option(
                "visibly, because dropout draws other numbers",
                False,
                "It would be so if the draws were not tied to the number of the update.",
            ),
        ],
    ),
]
