import torch

from course_lib.seq2seq import last_hidden
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def by_gather(outputs, lengths):
    index = (lengths - 1)[:, None, None].expand(-1, 1, outputs.shape[2])
    return outputs.gather(1, index).squeeze(1)


def _batch(lengths, seq_len, d_model, about, seed=0):
    return case(randn(len(lengths), seq_len, d_model, seed=seed), torch.tensor(lengths), about=about)


EXERCISE = Exercise(
    reference=last_hidden,
    cases=lambda: [
        _batch([2], 3, 2, "one sentence, one pad"),
        _batch([3, 2], 5, 4, "no sentence fills its row", seed=1),
        _batch([5, 2, 4], 5, 7, "all sizes different", seed=2),
        _batch([1, 4, 2, 3], 4, 3, "as many sentences as positions", seed=3),
        _batch([3, 1, 2], 3, 3, "all sizes equal", seed=4),
        _batch([3, 3], 3, 5, "no pads", seed=5),
    ],
    alternatives=(by_gather,),
    trained=True,
)
