"""What the chapter says of the models of each year is what the pinned library's code holds."""

import re
from datetime import date
from importlib import metadata
from pathlib import Path

import pytest

from course_lib.stored import results
from experiments.modern_today import CHECKED, LEFT_OUT, PARTS, counted, parts_of, read_families, words, year_of
from tools.environment import ROOT

STORED = results("modern_today")


def test_the_pinned_version_was_read():
    pinned = re.search(
        r'^transformers==(\S+) ; python_version >= "3.11"', (ROOT / "requirements.txt").read_text(), re.M
    )
    assert STORED["version"] == pinned[1], (
        "run python -m experiments.modern_today, and read what the chapter says of it"
    )


def test_the_chapter_names_the_version_and_when_it_was_read():
    read = date.fromisoformat(STORED["read"])
    text = (ROOT / "chapters" / "20_modern.ipynb").read_text("utf-8")
    assert f"version {STORED['version']} (in {read:%B %Y})" in text
    assert f"{len(STORED['families'])} families of decoder-only models" in text


@pytest.mark.skipif(metadata.version("transformers") != STORED["version"], reason="another version of transformers")
def test_the_installed_library_gives_what_is_stored():
    library = Path(metadata.distribution("transformers").locate_file("transformers")) / "models"
    assert read_families(library) == STORED["families"]


def test_the_rows_count_the_families():
    assert counted(STORED["families"]) == STORED["rows"]
    assert sum(row["families"] for row in STORED["rows"]) == len(STORED["families"])


def test_a_person_read_ten_families_for_every_pattern_and_each_disagreement_is_stored():
    """Every part is there in some of them and missing in others, so no pattern that always answers alike would do."""
    assert len(CHECKED) >= 10
    for part in PARTS:
        assert 0 < sum(part in parts for parts in CHECKED.values()) < len(CHECKED)
    differ = {(name, part) for name, own in CHECKED.items() for part in own ^ {*STORED["families"][name]["parts"]}}
    assert {(row["family"], row["part"]) for row in STORED["checked"]["wrong"]} == differ


@pytest.mark.parametrize(
    ("family", "counts"), [("gpt2", True), ("xglm", True), ("bert", False), ("bart", False), ("whisper", False)]
)
def test_a_cross_attention_that_can_be_switched_on_leaves_a_family_in(family, counts):
    assert (family in STORED["families"]) == counts
    assert not LEFT_OUT.keys() & STORED["families"].keys()


CODE = '''
"""RMSNorm and sinks, in a docstring."""
if True:
    class TinyRMSNorm: ...
class Unused:
    experts = 1
@kernel(apply_rotary_pos_emb)
class Attention:
    norm = TinyRMSNorm  # sliding window
    def forward(self):
        if self.sliding_window is not None:
            apply_rotary_pos_emb(self.q)
class PictureVision:
    q_norm = 1
TABLE = {"eager": Attention}
class TinyForCausalLM:
    layers = TABLE, PictureVision
'''


def test_only_code_that_the_model_uses_counts():
    assert parts_of(words(CODE, {"TinyForCausalLM"})) == {"RMSNorm", "RoPE", "layers without RoPE"}
    without = CODE.replace("            apply_rotary_pos_emb(self.q)", "            pass")
    assert parts_of(words(without, {"TinyForCausalLM"})) == {"RMSNorm"}


def test_latent_keys_are_no_grouped_ones():
    assert parts_of({"num_key_value_heads", "kv_lora_rank"}) == {"latent keys"}
    assert parts_of({"num_key_value_heads"}) == {"grouped keys"}


def test_a_folder_without_a_year_is_refused(tmp_path):
    (tmp_path / "modeling_x.py").write_text("# no year")
    with pytest.raises(ValueError, match=r"expected a year in the code of .*, got none"):
        year_of(tmp_path)
    (tmp_path / "configuration_x.py").write_text("# Copyright (C) 2025 Somebody")
    assert year_of(tmp_path) == 2025
