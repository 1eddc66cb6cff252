from course_practice.engine import Exercise, case
from course_practice.exercises.batching._forms import as_lengths


def group(lengths, max_tokens):
    """Numbers of sentences in groups, from short ones to long ones; rows × longest is at most `max_tokens` in each.

    >>> group([3, 9, 4, 3, 9], max_tokens=12)
    [[0, 3, 2], [1], [4]]
    """
    groups = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if not groups or (len(groups[-1]) + 1) * lengths[i] > max_tokens:
            groups.append([])
        groups[-1].append(i)
    return groups


def with_a_current_group(lengths, max_tokens):
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    done, current = [], []
    for i in order:
        if current and lengths[i] * (len(current) + 1) > max_tokens:
            done.append(current)
            current = []
        current.append(i)
    return [*done, current] if current else done


def _without_sentences(obj, given):
    """The name of the mistake, where no sentences at all do not give no groups."""
    lengths, max_tokens = given.args
    if len(lengths) > 1:
        return ""
    try:
        made = as_lengths(obj, case([], max_tokens))
    except Exception:
        return "empty-group"
    return "empty-group" if made else ""


EXERCISE = Exercise(
    reference=group,
    call=as_lengths,
    excluded=_without_sentences,
    cases=lambda: [
        case([3, 9, 4, 3, 9], 12, about="the five lengths of the text"),
        case([2, 6, 3, 6, 2, 3], 12, about="six lengths"),
        case([5, 5, 5, 5], 10, about="all of one length, two a group"),
        case([4, 1, 2, 1, 3, 1, 5, 2], 9, about="many short ones"),
        case([7, 2, 3, 8, 8, 2, 5, 4, 6], 16, about="nine lengths"),
        case([6], 6, about="a single sentence that fills the budget"),
        case([9, 8, 7], 30, about="all fit into one group"),
    ],
    alternatives=(with_a_current_group,),
)
