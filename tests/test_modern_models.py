"""The configurations of open models: what the chapter's formula counts is what their sources say."""

import pytest

from course_lib.stored import results
from course_practice.exercises.modern.parameter_count import model_size

ROWS = results("modern_models")["rows"]
SIZES = ("vocab_size", "d_model", "n_layers", "n_heads", "n_kv_heads", "d_k", "d_ff", "tied")
each_model = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])


def counted(row, experts):
    """The formula of one model, with what it has beyond it, and with that many experts."""
    d, layers = row["d_model"], row["n_layers"]
    more = (experts - 1) * 3 * d * row["d_ff"] + (row["experts"] > 1) * row["experts"] * d + row["extra"]
    return model_size(**{name: row[name] for name in SIZES}) + layers * more


@each_model
def test_the_formula_gives_the_published_number(row):
    assert counted(row, row["experts"]) == pytest.approx(row["published"], rel=0.02)
    if "published_active" in row:
        whole = counted(row, row["active"])
        table = row["vocab_size"] * row["d_model"]  # sources count active parameters with or without the embedding
        assert min(abs(n / row["published_active"] - 1) for n in (whole, whole - table)) < 0.02
    if "without_table" in row:
        table = row["vocab_size"] * row["d_model"]
        assert counted(row, row["experts"]) - table == pytest.approx(row["without_table"], rel=0.02)


@each_model
def test_the_formula_gives_what_the_library_builds(row):
    if row["built"] is not None:
        assert counted(row, 1) == row["built"]


@each_model
def test_every_number_has_its_source(row):
    assert row["configuration"]
    assert row["source"]
    assert row["read"] == "date unknown"
    assert row["n_heads"] % row["n_kv_heads"] == 0
