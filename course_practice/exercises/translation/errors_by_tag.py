"""Exercise: errors by tag."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from course_practice.engine import Exercise, Mistake, case


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


def with_counters(right, tags):
    every = Counter(tag for row in tags for tag in row)
    bad = Counter(tag for ok, row in zip(right, tags, strict=True) if not ok for tag in row)
    return {tag: [bad[tag] / n, n] for tag, n in sorted(every.items())}


def with_arrays(right, tags):
    right = np.array(right, dtype=bool)
    out = {}
    for tag in {tag for row in tags for tag in row}:
        has = np.array([tag in row for row in tags])
        out[tag] = (float(1 - right[has].mean()), int(has.sum()))
    return out


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


def _entries(make):
    """Another entry made of a tag's verdicts, all verdicts, and the number of taggings."""

    def answer(right, tags):
        found = {}
        for tag in sorted({tag for row in tags for tag in row}):
            verdicts = [bool(ok) for ok, row in zip(right, tags, strict=True) if tag in row]
            found[tag] = make(verdicts, [bool(ok) for ok in right], sum(map(len, tags)))
        return found

    return answer


def _families(right, tags):
    """A tag such as counter:권 goes to counter as well."""
    found = {}
    for family in sorted({tag.split(":")[0] for row in tags for tag in row}):
        verdicts = [ok for ok, row in zip(right, tags, strict=True) if any(tag.split(":")[0] == family for tag in row)]
        found[family] = (verdicts.count(False) / len(verdicts), len(verdicts))
    return found


def _prefixes(right, tags):
    """Whatever contains the tag's text."""
    found = {}
    for tag in sorted({tag for row in tags for tag in row}):
        verdicts = [ok for ok, row in zip(right, tags, strict=True) if any(tag in other for other in row)]
        found[tag] = (verdicts.count(False) / len(verdicts), len(verdicts))
    return found


def _first_tag_only(right, tags):
    return errors_by_tag(right, [row[:1] for row in tags])


def _only_with_errors(right, tags):
    return {tag: entry for tag, entry in errors_by_tag(right, tags).items() if entry[0] > 0}


def _number_wrong(verdicts, everything, taggings):
    return verdicts.count(False) / len(verdicts), verdicts.count(False)


def _whole_rows(right, tags):
    return errors_by_tag(right, [[tuple(row)] for row in tags])


EXERCISE = Exercise(
    title="Errors by tag",
    task="From a verdict for each sentence and the tags of each, return a dictionary: for every tag (share of its "
    "sentences that are wrong, number of its sentences).",
    reference=errors_by_tag,
    call=_as_lines,
    cases=lambda: [
        case([True, False], [("quote",), ("quote", "name")], about="two sentences"),
        case(
            [True, True, False],
            [("name",), ("name",), ("past",)],
            about="a tag without errors, and one with errors only",
        ),
        case(
            [False, True, False, True],
            [
                ("counter", "counter:권"),
                ("two relatives",),
                ("past", "relative"),
                ("relative", "counter", "counter:명"),
            ],
            about="a tag inside another tag",
        ),
        case([False, True, True], [(), ("name",), ("name", "quote")], about="a sentence without tags"),
        case(
            [True, False, True, False, False],
            [("quote", "name"), ("relative",), ("relative", "name"), ("relative", "past"), ("name", "past", "plural")],
            about="five sentences",
        ),
    ],
    mistakes=(
        Mistake(
            "share-right",
            _entries(lambda verdicts, everything, taggings: (verdicts.count(True) / len(verdicts), len(verdicts))),
            "You give the share that is *right*. Errors are asked for.",
        ),
        Mistake(
            "share-of-all-errors",
            _entries(
                lambda verdicts, everything, taggings: (
                    verdicts.count(False) / max(everything.count(False), 1),
                    len(verdicts),
                )
            ),
            "You divide by all errors: the share of the errors that have the tag. A common tag always leads that list. "
            "Divide by the sentences that have the tag.",
        ),
        Mistake(
            "share-of-all-sentences",
            _entries(lambda verdicts, everything, taggings: (verdicts.count(False) / len(everything), len(verdicts))),
            "You divide by all sentences. A rare tag then looks harmless: divide by the sentences that have it.",
        ),
        Mistake(
            "share-of-all-tags",
            _entries(lambda verdicts, everything, taggings: (verdicts.count(False) / taggings, len(verdicts))),
            "You divide by the number of all tags. Divide by the number of sentences that have this one.",
        ),
        Mistake(
            "number-missing",
            _entries(lambda verdicts, everything, taggings: verdicts.count(False) / len(verdicts)),
            "The shares are right, and nobody can see whether a share is of 3 sentences or of 300: give the number as "
            "well.",
        ),
        Mistake(
            "number-of-errors",
            _entries(_number_wrong),
            "The shares are right. The second number is that of the *errors*; it should be that of the sentences.",
        ),
        Mistake(
            "counts-instead-of-shares",
            _entries(lambda verdicts, everything, taggings: (verdicts.count(False), len(verdicts))),
            "The first number is a count of errors. As a share it is divided by the sentences that have the tag.",
        ),
        Mistake(
            "families-joined",
            _families,
            "The tag counter:권 has gone into counter. Each tag is a slice of its own; sentences already carry both.",
        ),
        Mistake(
            "part-of-a-tag",
            _prefixes,
            "A tag is found inside longer ones: 'counter' stands in 'counter:권'. Compare whole tags.",
        ),
        Mistake(
            "first-tag-only",
            _first_tag_only,
            "Only the first tag of each sentence counts. A sentence belongs to the slice of every tag it has.",
        ),
        Mistake(
            "only-tags-with-errors",
            _only_with_errors,
            "Tags without an error are missing. That a phenomenon is never wrong is a finding too.",
        ),
        Mistake(
            "exchanged",
            _entries(lambda verdicts, everything, taggings: (len(verdicts), verdicts.count(False) / len(verdicts))),
            "The two numbers have changed places: first the share, then the number.",
        ),
        Mistake(
            "last-verdict",
            _entries(lambda verdicts, everything, taggings: (float(not verdicts[-1]), len(verdicts))),
            "Only the last sentence with a tag decides, because each verdict replaces the one before. Add them up.",
        ),
        Mistake(
            "wrong-to-right",
            _entries(
                lambda verdicts, everything, taggings: (
                    verdicts.count(False) / max(verdicts.count(True), 1),
                    len(verdicts),
                )
            ),
            "You divide by the sentences that are right. A share divides by all sentences that have the tag.",
        ),
        Mistake(
            "all-tags-as-one",
            _whole_rows,
            "All the tags of a sentence form one key. Each tag is a slice of its own.",
        ),
    ),
    hints=(
        "Take one tag. Which sentences have it, and how many of these are wrong?",
        "Two counters are enough: one counts every tag, the other the tags of wrong sentences.",
        "`n = Counter(tag for row in tags for tag in row)`, the same over wrong sentences, and "
        "`{tag: (wrong[tag] / n[tag], n[tag]) for tag in n}`.",
    ),
    alternatives=(in_one_pass, with_counters, with_arrays),
    difficulty=1,
    minutes=8,
)
