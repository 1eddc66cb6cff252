import torch

from course_lib.attention_view import head_alignment
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def word_by_word(weights, links):
    partners = {}
    for src, tgt in links:
        partners.setdefault(tgt, set()).add(src)
    found = []
    for head in weights:
        best = head.argmax(dim=-1).tolist()
        found.append(sum(best[tgt] in sources for tgt, sources in partners.items()) / len(partners))
    return torch.tensor(found)


def _weights(*shape, seed):
    return (3 * randn(*shape, seed=seed)).softmax(dim=-1)


EXERCISE = Exercise(
    reference=head_alignment,
    cases=lambda: [
        case(torch.tensor([[[0.9, 0.1], [0.6, 0.4]], [[0.9, 0.1], [0.2, 0.8]]]), [(0, 0), (1, 1)], about="two heads"),
        case(_weights(3, 5, 4, seed=11), [(0, 0), (3, 1), (1, 4)], about="two target words without a partner"),
        case(_weights(4, 3, 5, seed=2), [(0, 0), (1, 0), (4, 1), (2, 2), (3, 2)], about="several partners"),
        case(_weights(2, 7, 4, seed=3), [(0, 0), (0, 1), (2, 4), (3, 5), (1, 6)], about="all sizes different"),
        case(_weights(5, 5, 5, seed=4), [(0, 1), (1, 0), (4, 2), (2, 4), (3, 4)], about="all sizes equal"),
        case(_weights(8, 6, 5, seed=5), [(0, 0), (4, 1), (3, 3), (2, 5), (1, 5)], about="eight heads"),
        case(
            torch.tensor([[[0.4, 0.3, 0.3], [0.2, 0.45, 0.35]], [[0.2, 0.3, 0.5], [0.25, 0.35, 0.4]]]),
            [(1, 0), (2, 0), (1, 1)],
            about="two partners that are larger together",
        ),
    ],
    alternatives=(word_by_word,),
)
