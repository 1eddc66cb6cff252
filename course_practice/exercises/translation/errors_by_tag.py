from collections.abc import Mapping

from course_practice.engine import Exercise, case


def errors_by_tag(right, tags):
    """For every tag: the share of its sentences that are wrong, and how many sentences have it.

    `right` holds a verdict for each sentence, `tags` the tags of each.

    >>> errors_by_tag([True, False], [("quote",), ("quote", "name")])
    {'quote': (0.5, 2), 'name': (1.0, 1)}
    """
    found = {}
    for tag in dict.fromkeys(tag for tags_of_one in tags for tag in tags_of_one):
        verdicts = [ok for ok, tags_of_one in zip(right, tags, strict=True) if tag in tags_of_one]
        found[tag] = (verdicts.count(False) / len(verdicts), len(verdicts))
    return found


def in_one_pass(right, tags):
    n, wrong = {}, {}
    for i in range(len(right)):
        for tag in tags[i]:
            n[tag] = n.get(tag, 0) + 1
            wrong[tag] = wrong.get(tag, 0) + (0 if right[i] else 1)
    return {tag: (wrong[tag] / n[tag], n[tag]) for tag in n}


def _as_lines(obj, given):
    """Each tag with its two numbers, whatever the order and the kind of the answer."""
    answer = obj(*given.args)
    if not isinstance(answer, Mapping):
        return answer
    lines = []
    for tag, entry in answer.items():
        try:
            share, n = entry
            lines.append(f"{tag}: {float(share):.3f} of {float(n):g}")
        except (TypeError, ValueError):
            lines.append(f"{tag}: {entry!r} instead of a share and a number")
    return ", ".join(sorted(lines))


EXERCISE = Exercise(
    reference=errors_by_tag,
    call=_as_lines,
    cases=lambda: [
        case([True, False], [("quote",), ("quote", "name")], about="two sentences"),
        case([True, True, False], [("name",), ("name",), ("past",)], about="a tag without errors, one always wrong"),
        case(
            [False, True, False, True],
            [("counter", "counter:권"), ("no relative",), ("past", "relative"), ("relative", "counter", "counter:명")],
            about="a tag inside another tag",
        ),
        case([False, True, True], [(), ("name",), ("name", "quote")], about="a sentence without tags"),
        case(
            [True, False, True, False, False],
            [("quote", "name"), ("relative",), ("relative", "name"), ("relative", "past"), ("name", "past", "plural")],
            about="five sentences",
        ),
    ],
    alternatives=(in_one_pass,),
)
