"""Exercise: buckets of similar length."""

from course_lib.batching import buckets
from course_practice.engine import Convention, Exercise, Mistake, case
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


def as_a_generator(lengths, max_tokens):
    group = []
    for length, i in sorted((length, i) for i, length in enumerate(lengths)):
        if group and length * (len(group) + 1) > max_tokens:
            yield group
            group = []
        group.append(i)
    if group:
        yield group


def with_slices(lengths, max_tokens):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    groups, start = [], 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (end - start + 1) * lengths[order[end]] > max_tokens:
            groups.append(order[start:end])
            start = end
    return groups


def from_the_library(lengths, max_tokens):
    return buckets(lengths, max_tokens)


def _with(order=lambda lengths: sorted(range(len(lengths)), key=lengths.__getitem__), full=None, start=None, end=None):
    """The right loop with one part exchanged; `full` says from the group's lengths and a new one when to cut."""
    full = full or (lambda group, new, budget: (len(group) + 1) * max([*group, new]) > budget)

    def answer(lengths, max_tokens):
        groups = [[]]
        for i in order(lengths):
            if groups[-1] and full([lengths[j] for j in groups[-1]], lengths[i], max_tokens):
                groups.append([])
                if start == "lost":
                    continue
            groups[-1].append(i)
        groups = [group for group in groups if group]
        return groups[:-1] if end == "lost" else groups

    return answer


def _begins_with_an_empty_group(lengths, max_tokens):
    return group(lengths, max_tokens) or [[]]


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
    title="Buckets of similar length",
    task="Return a list of groups of sentences, given by their numbers 0, 1, …: go from short to long, and begin a new "
    "group when rows × longest would exceed `max_tokens`. No sentence is longer than that. Ties may come in any order. "
    "Without sentences there are no groups: [].",
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
    mistakes=(
        Mistake(
            "empty-group",
            _begins_with_an_empty_group,
            "Right as long as there are sentences. Without any (`lengths` is []) there is no group, not even an empty "
            "one: return []. Begin a group only when there is a sentence to put into it.",
        ),
        Mistake(
            "sum-of-lengths",
            _with(full=lambda group, new, budget: sum(group) + new > budget),
            "You add up the lengths, but pads take places too. A group has rows × longest positions.",
        ),
        Mistake(
            "not-sorted",
            _with(order=lambda lengths: range(len(lengths))),
            "The sentences come in their old order, so short and long ones meet. Sort their numbers by length first.",
        ),
        Convention(
            "long-to-short",
            _with(order=lambda lengths: sorted(range(len(lengths)), key=lambda i: -lengths[i])),
            "Valid, and it shows early whether the longest sentences fit into memory. Here the groups are filled from "
            "short to long.",
        ),
        Mistake(
            "last-group-lost",
            _with(end="lost"),
            "The last group is missing: when the loop ends, one group is still open.",
        ),
        Mistake(
            "sum-of-lengths-and-last-group-lost",
            _with(full=lambda group, new, budget: sum(group) + new > budget, end="lost"),
            "Two things are left. When the loop ends, one group is still open, and it is missing. And you add up the "
            "lengths, although each row is as wide as the longest: count rows × longest positions.",
        ),
        Mistake(
            "first-of-a-group-lost",
            _with(start="lost"),
            "The sentence that does not fit anymore is lost. It becomes the first one of the next group.",
        ),
        Mistake(
            "one-too-many",
            _with(full=lambda group, new, budget: len(group) * max(group) >= budget),
            "Some groups exceed the budget: you look at the group before the new sentence is in it. Count the new one, "
            "and its length, too.",
        ),
        Mistake(
            "longest-before",
            _with(full=lambda group, new, budget: (len(group) + 1) * max(group) > budget),
            "Some groups exceed the budget: you count the new row, but with the width before it. The new sentence is "
            "the longest of the group.",
        ),
        Mistake(
            "rows-before",
            _with(full=lambda group, new, budget: len(group) * new > budget),
            "Some groups exceed the budget: the new sentence needs a row of its own, so count one row more.",
        ),
        Mistake(
            "one-too-few",
            _with(full=lambda group, new, budget: (len(group) + 1) * new >= budget),
            "A group that would fill the budget exactly is cut before. `max_tokens` positions are allowed.",
        ),
        Mistake(
            "two-rows-too-careful",
            _with(full=lambda group, new, budget: (len(group) + 2) * new > budget),
            "Your groups are smaller than they need to be: you keep a place for a row that is not there.",
        ),
        Mistake(
            "number-of-sentences",
            _with(full=lambda group, new, budget: len(group) + 1 > budget),
            "You count sentences. The budget is about positions: rows × longest.",
        ),
        Mistake(
            "one-for-each-length",
            _with(full=lambda group, new, budget: new != group[-1] or (len(group) + 1) * new > budget),
            "A group holds sentences of one length only. A shorter sentence may stand with a longer one as long as the "
            "budget allows it.",
        ),
        Mistake(
            "lengths-returned",
            lambda lengths, max_tokens: [[lengths[i] for i in found] for found in group(lengths, max_tokens)],
            "Your groups hold lengths. Return the *numbers* of the sentences, 0, 1, …, so that one can find them.",
        ),
        Mistake(
            "numbers-in-the-sorted-list",
            lambda lengths, max_tokens: group(sorted(lengths), max_tokens),
            "Your numbers count the sentences in their sorted order, so they lead to other sentences. Sort the numbers "
            "by length instead of the lengths.",
        ),
        Mistake(
            "found-by-their-length",
            lambda lengths, max_tokens: [[lengths.index(lengths[i]) for i in g] for g in group(lengths, max_tokens)],
            "Of equally long sentences, one stands there several times and the others never: `lengths.index` finds the "
            "first of them each time. Sort the numbers by length instead of the lengths.",
        ),
        Mistake(
            "one-sentence-each",
            _with(full=lambda group, new, budget: True),
            "Every sentence is alone in its group. Fill each group up to the budget.",
        ),
    ),
    hints=(
        "Do it by hand for the lengths 3, 3, 4, 9, 9 and a budget of 12. When does a new group begin?",
        "Go through the sentences' numbers, sorted by length. With the new sentence, a group has one more row, and "
        "because of the sorting, the new sentence is its longest.",
        "`if (len(groups[-1]) + 1) * lengths[i] > max_tokens: groups.append([])`, and then `groups[-1].append(i)`.",
    ),
    alternatives=(with_a_current_group, as_a_generator, with_slices, from_the_library),
    difficulty=2,
    minutes=12,
)
