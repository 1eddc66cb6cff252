"""Stored results and models can be read, repeated, and are of experiments that exist."""

import pytest
import torch

from course_lib.bpe import BPE
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.stored import FOLDER, model, results
from course_lib.transformer import Transformer, TransformerConfig
from course_lib.translation import Translator
from course_lib.translation.commands.export import rounded
from experiments import store, store_model
from experiments.translation_learning import gathered
from tools.environment import ROOT
from tools.models import departures

STORED = sorted(path.stem for path in FOLDER.glob("*.json"))
MODELS = sorted(path.stem for path in FOLDER.glob("*.safetensors"))
SCRIPTS = sorted(path.stem for path in (ROOT / "experiments").glob("*.py") if path.stem != "__init__")


def test_what_an_experiment_stores_is_what_a_notebook_reads(tmp_path, monkeypatch):
    path = store("somewhere/masks_speed.py", seeds=[0, 1], folder=tmp_path, rows=[{"n": 4, "d_k": 0.25}], about="√")
    monkeypatch.setattr("course_lib.stored.FOLDER", tmp_path)
    kept = results("masks_speed")
    assert kept["rows"] == [{"n": 4, "d_k": 0.25}]
    assert kept["about"] == "√"
    assert (kept["command"], kept["seeds"]) == ("python -m experiments.masks_speed", [0, 1])
    assert set(kept["versions"]) == {"python", "torch"}
    assert "√" in path.read_text(encoding="utf-8")


def test_unknown_results_say_which_there_are_and_how_to_make_them(tmp_path, monkeypatch):
    monkeypatch.setattr("course_lib.stored.FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"\(none yet\), got 'masks_sped'"):
        results("masks_sped")
    store("masks_speed.py", seeds=[0], folder=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"\(masks_speed\), got 'a': .* python -m experiments\.a"):
        results("a")


@pytest.mark.parametrize("name", STORED)
def test_stored_results_can_be_repeated(name):
    kept = results(name)
    assert kept["command"] == f"python -m experiments.{name}"
    assert kept["seeds"]
    assert kept["versions"]["torch"]
    assert name in SCRIPTS, "the script that makes it is not there"
    calls = [f'{reader}(\\"{name}\\")' for reader in ("results", "model")]
    texts = [path.read_text("utf-8") for path in ROOT.glob("chapters/*.ipynb")]
    read = any(call in text for call in calls for text in texts)
    assert read or name == "page_translator", "no chapter reads it, and it is not the front page's"


def test_results_that_are_too_large_are_not_stored(tmp_path):
    """They travel with the library."""
    with pytest.raises(ValueError, match=r"expected results of at most 200000 bytes, got \d{6}: store fewer rows"):
        store("masks_speed.py", seeds=[0], folder=tmp_path, rows=["x"] * 40_000)
    assert not list(tmp_path.iterdir())


def small_translator(kind):
    torch.manual_seed(0)
    vocabulary = BPE.train(["하나 둘 셋", "one two three"], n_merges=10)
    if kind == "gru":
        return Translator(Seq2Seq(Seq2SeqConfig(vocabulary.vocab_size, d_model=6)), vocabulary)
    config = TransformerConfig(vocabulary.vocab_size, d_model=6, n_heads=2, d_ff=10, n_layers=2, norm_first=True)
    return Translator(Transformer(config), vocabulary)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("course_lib.stored.FOLDER", tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", ["transformer", "gru"])
def test_a_stored_model_is_the_model_within_the_rounding(kind, folder):
    before = small_translator(kind)
    path = store_model("somewhere/small.py", before, seeds=[3], folder=folder, exact=0.5)
    after = model("small")
    assert results("small")["command"] == "python -m experiments.small"
    assert (results("small")["seeds"], results("small")["exact"]) == ([3], 0.5)
    assert path.stat().st_size < 1.6 * sum(p.numel() for p in before.model.parameters()) + 20_000
    assert (after.vocabulary.vocab, after.vocabulary.merges) == (before.vocabulary.vocab, before.vocabulary.merges)
    assert after.model.config == before.model.config
    assert not after.model.training
    for (name, was), now in zip(before.model.named_parameters(), after.model.parameters(), strict=True):
        largest = was.detach().abs().amax(dim=-1, keepdim=True)
        half_a_step = largest / 254 * 1.001 if was.dim() > 1 else torch.zeros(1)
        assert ((was - now).abs() <= half_a_step).all(), name
    src, tgt_in = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9]])
    assert torch.allclose(before.model.eval()(src, tgt_in), after.model(src, tgt_in), atol=0.2)


def test_a_model_that_is_stored_without_rounding_keeps_its_weights(folder):
    before = small_translator("transformer")
    store_model("small.py", before, seeds=[0], folder=folder, rounding=False)
    pairs = zip(before.model.parameters(), model("small").model.parameters(), strict=True)
    assert all(torch.equal(was, now) for was, now in pairs)


def test_a_tied_matrix_is_stored_once_and_tied_again(folder):
    store_model("small.py", small_translator("transformer"), seeds=[0], folder=folder)
    after = model("small").model
    assert after.output.weight is after.src_embedding.tokens.weight is after.tgt_embedding.tokens.weight


def test_a_matrix_is_rounded_row_by_row():
    weight = torch.tensor([[1.0, -0.5, 0.003], [0.0, 0.0, 0.0], [1e-3, 2e-3, -4e-3]])
    numbers, scale = rounded(weight)
    assert (numbers.dtype, scale.shape) == (torch.int8, (3, 1))
    assert numbers.abs().amax(dim=1).tolist() == [127, 0, 127]
    assert ((numbers * scale - weight).abs() <= scale / 2 + 1e-9).all()


def test_a_model_that_is_not_what_was_stored_is_refused(folder):
    path = store_model("small.py", small_translator("transformer"), seeds=[0], folder=folder)
    whole = path.read_bytes()
    for content in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b""):
        path.write_bytes(content)
        with pytest.raises(
            ValueError, match=r"expected the checksum \w{12}… .* got \w{12}… .* python -m experiments\.small"
        ):
            model("small")
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"expected small\.safetensors .* make it with python -m experiments"):
        model("small")


def test_names_that_are_no_models_say_what_there_is(folder):
    store("masks_speed.py", seeds=[0], folder=folder)
    with pytest.raises(ValueError, match=r"\(none yet\), got 'masks_speed', .* results\(\"masks_speed\"\)"):
        model("masks_speed")
    store_model("small.py", small_translator("transformer"), seeds=[0], folder=folder)
    with pytest.raises(ValueError, match=r"\(small\), got 'masks_speed'"):
        model("masks_speed")
    with pytest.raises(FileNotFoundError, match="mend the name, or make them"):
        model("smal")


@pytest.mark.parametrize("name", MODELS)
def test_stored_models_are_small_and_sound(name):
    assert (FOLDER / f"{name}.safetensors").stat().st_size <= 1_500_000
    parameters = list(model(name).model.parameters())
    assert all(parameter.isfinite().all() for parameter in parameters)
    assert {"exact_match", "right"} & results(name).keys(), "what it reaches"


def test_the_gathered_trainings_are_those_of_the_results_page():
    assert results("translation_learning")["rows"] == gathered()


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ({"a": {"b": 0.45}, "bleu": 31.0, "n": 3}, []),
        ({"a": {"b": 0.61}, "bleu": 31.0, "n": 3}, ["a, b: expected about 0.5, got 0.61"]),
        (
            {"a": {"b": 0.5}, "bleu": 45.0, "n": 4},
            ["bleu: expected about 34.0, got 45.0", "n: expected about 3, got 4"],
        ),
        ({}, ["a, b: expected", "bleu:", "n:"]),
    ],
)
def test_a_model_made_anew_may_differ_by_a_tenth(made, told):
    complaints = departures({"a": {"b": 0.5}, "bleu": 34.0, "n": 3}, made)
    assert [complaint[: len(words)] for complaint, words in zip(complaints, told, strict=True)] == told
