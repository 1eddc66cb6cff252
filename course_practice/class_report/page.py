"""The report on a class: a table for a spreadsheet, and a page."""

import csv
import html
import io
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from course_practice.class_report import Student

COLUMNS = ("student", "exercise", "verdict", "tries", "mistakes", "note")
MARKS = {"solved": "✓", "wrong": "✗", "open": "○", "not reached": "–", "look at it": "?"}
STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
div { overflow-x: auto }
table { border-collapse: collapse; margin: .5rem 0 2rem }
th, td { border: 1px solid #8888; padding: .2rem .6rem; text-align: left; vertical-align: top }
caption { text-align: left; font-weight: 600; padding: .3rem 0 }
"""


def table(students: Iterable[Student]) -> str:
    """CSV: a row for each exercise of a student, and one for each trouble with a whole notebook."""
    rows = [list(COLUMNS)]
    for student in students:
        for row in student.rows.values():
            mistakes = " ".join(f"{name}×{count}" for name, count in row.mistakes.items())
            rows.append([student.name, row.exercise, row.verdict, str(row.tries), mistakes, row.note])
        trouble = student.trouble or ([] if student.rows else ["no exercise"])
        rows += [[student.name, "", "trouble", "", "", text] for text in trouble]
    # A spreadsheet takes what begins like this for a formula, and runs it.
    rows = [[re.sub(r"[\x00-\x08\x0b-\x1f]", " ", cell) for cell in row] for row in rows]
    rows = [[f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t")) else cell for cell in row] for row in rows]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def page(students: Sequence[Student], title: str, limits: str) -> str:
    """Students and exercises, what to look at, frequent mistakes, and which exercises are hard."""
    every = [(student.name, row) for student in students for row in student.rows.values()]
    exercises = list(dict.fromkeys(row.exercise for _, row in every))
    overview, matrix, hard = [], [], []
    for student in students:
        solved = sum(row.verdict == "solved" for row in student.rows.values())
        overview.append([student.name, f"{solved} of {len(student.rows)}", "; ".join(student.trouble)])
        cells = [student.rows.get(name) for name in exercises]
        matrix.append([student.name, *(f"{MARKS[row.verdict]} {row.tries or ''}" if row else "" for row in cells)])
    for name in exercises:
        tried = [row for _, row in every if row.exercise == name and row.verdict not in ("open", "not reached")]
        right = sum(row.verdict == "solved" for row in tried)
        if tried:
            hard.append((right / len(tried), name, right, len(tried), statistics.median(row.tries for row in tried)))
    hard = [[name, f"{right} of {of}", f"{tries:g}", "hard" * (s < 0.5)] for s, name, right, of, tries in sorted(hard)]
    notes = [[name, row.exercise, row.note] for name, row in every if row.note]
    made = Counter((row.exercise, mistake) for _, row in every for mistake in row.mistakes).most_common()
    signs = ", ".join(f"{mark} {verdict}" for verdict, mark in MARKS.items())
    parts = [
        _html_table("Students", ["student", "solved", "trouble"], overview),
        _html_table(f"Exercises, with the number of tries ({signs})", ["student", *exercises], matrix),
        _html_table("To look at", ["student", "exercise", "why"], notes),
        _html_table("Mistakes", ["exercise", "mistake", "students"], [[*key, str(count)] for key, count in made]),
        _html_table("Hardest first", ["exercise", "solved, of those who tried", "tries (median)", ""], hard),
    ]
    title, style = html.escape(title), f"<style>{STYLE}</style>"
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>{style}'
    body = f"<h1>{title}</h1>\n<p>{html.escape(limits)}</p>\n{''.join(parts)}"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _html_table(caption: str, columns: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in columns)
    lines = [f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows]
    body = f"<caption>{html.escape(caption)}</caption><tr>{head}</tr>\n{''.join(lines)}"
    return f"<div tabindex=0><table>{body}</table></div>\n" if lines else ""
