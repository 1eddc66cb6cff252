"""The folder of a run: one training a folder, a translator that fits, the learning curve."""

import json
import math
from xml.etree import ElementTree

import pytest
import torch
from small_run import make_run, make_translator

from course_lib.training.checkpoint import CheckpointFolder, load_checkpoint, save_checkpoint
from course_lib.translation.run_folder import (
    READ,
    check_data,
    check_options,
    only_user,
    open_translator,
    record_options,
    recorded_options,
    save_curve,
)

OPTIONS = {"data": "course", "merges": 100, "d_model": 8, "seconds": 60.0, "beam": 1}
POINT = {"step": 200, "seconds": 3.25, "tokens": 9000, "val_loss": 2.5}


def prepare(folder, options):
    """What a training does with its folder before the first update."""
    with only_user(folder):
        check_options(folder, options)
        record_options(folder, options)


def test_two_trainings_do_not_share_a_folder(tmp_path):
    with only_user(tmp_path), pytest.raises(ValueError, match="expected a folder that no other training uses"):
        prepare(tmp_path, OPTIONS)
    prepare(tmp_path, OPTIONS)


def test_what_is_refused_leaves_the_folder_as_it_was(tmp_path):
    prepare(tmp_path, OPTIONS)
    CheckpointFolder(tmp_path / "checkpoints").save(1, {})
    before = (tmp_path / "options.json").read_bytes()
    with pytest.raises(ValueError, match="expected the options of the training"):
        check_options(tmp_path, OPTIONS | {"d_model": 16})
    assert (tmp_path / "options.json").read_bytes() == before


def test_another_training_does_not_go_on_here(tmp_path):
    prepare(tmp_path, OPTIONS)
    prepare(tmp_path, OPTIONS | {"merges": 50})  # nothing was trained yet
    CheckpointFolder(tmp_path / "checkpoints").save(1, {})
    prepare(tmp_path, OPTIONS | {"merges": 50, "seconds": 90.0, "beam": 5, "new": True})
    words = (
        r"the training in .* \(--merges 50 --d-model 8\), got --merges 100 --d-model 16: use the same ones, or another"
    )
    with pytest.raises(ValueError, match=words):
        prepare(tmp_path, OPTIONS | {"d_model": 16})
    assert recorded_options(tmp_path)["merges"] == 50
    (tmp_path / "options.json").unlink()  # other data could have a vocabulary of the same size
    with pytest.raises(ValueError, match=r"expected options\.json beside the training in .*, got none"):
        prepare(tmp_path, OPTIONS)


def test_a_file_of_pairs_is_found_from_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "pairs.tsv").touch()
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path / "run", OPTIONS | {"data": "pairs.tsv"})
    assert recorded_options(tmp_path / "run")["data"] == str((tmp_path / "pairs.tsv").resolve())


def test_the_mean_of_the_last_checkpoints(tmp_path):
    run = make_run(tmp_path)
    weights = make_translator().model.state_dict()
    for step, factor in ((100, 100.0), (200, 1.0), (300, 4.0)):
        model = {name: value * factor for name, value in weights.items()}
        CheckpointFolder(run / "checkpoints").save(step, {"model": model})
    mean = open_translator(run, average=2).model.state_dict()
    for name, value in weights.items():
        torch.testing.assert_close(mean[name], value * 2.5)
    torch.testing.assert_close(open_translator(run).model.state_dict(), weights)
    with pytest.raises(ValueError, match=r"expected 4 checkpoints in .*, got 3: average fewer"):
        open_translator(run, average=4)


def test_parts_of_two_trainings_are_refused(tmp_path):
    run = make_run(tmp_path)
    make_translator(n_merges=3).vocabulary.save(run / "vocabulary.json")
    words = r"expected the vocabulary of the model in .*, with \d+ ids, got another with \d+: keep model.pt and"
    with pytest.raises(ValueError, match=words):
        open_translator(run)


def swapped(vocab):
    """Two tokens have each other's ids."""
    *_, first, second = vocab
    return vocab | {first: vocab[second], second: vocab[first]}


@pytest.mark.parametrize("change", [{"vocab": swapped}, {"merges": lambda merges: merges[:-1]}], ids=["ids", "merges"])
def test_a_vocabulary_of_the_same_size_but_other_content_is_refused(change, tmp_path):
    path = make_run(tmp_path) / "vocabulary.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {name: how(data[name]) for name, how in change.items()}))
    with pytest.raises(ValueError, match="expected the vocabulary of the model in"):
        open_translator(tmp_path)
    path.write_text(json.dumps(data, indent=3))  # the same, written otherwise
    open_translator(tmp_path)


def test_a_model_of_an_earlier_version_has_no_checksum_of_its_vocabulary(tmp_path):
    run = make_run(tmp_path)
    content = load_checkpoint(run / "model.pt")
    del content["vocabulary"]
    save_checkpoint(run / "model.pt", content)
    open_translator(run)


TINY = {"vocab_size": 302, "d_model": 8, "n_heads": 2, "d_ff": 16, "n_layers": 1}


@pytest.mark.parametrize(
    "content",
    [
        {"step": 3},
        {"kind": "transformer", "config": {"vocab_size": 9}, "weights": {}},
        {"kind": "transformer", "config": {"vocab_size": 9, "n_layers": 1}, "weights": {"a": 1, "b": 2}},
        {"kind": "transformer", "config": [], "weights": {}},
        {"kind": ["gru"], "config": {}, "weights": {}},
        *({"config": TINY | {name: 10**9}} for name in ("vocab_size", "n_layers")),
        *({"config": TINY | {"positions": "learned", "max_len": most}} for most in (302, 10**9, "10")),
        {"config": TINY | {"d_model": 10**19, "n_heads": 1}},
        {"config": TINY | {"n_layers": "one"}},
    ],
)
def test_another_file_in_the_models_place_is_refused(content, tmp_path):
    run = make_run(tmp_path)
    save_checkpoint(run / "model.pt", load_checkpoint(run / "model.pt") | content if "config" in content else content)
    with pytest.raises(ValueError, match=r"expected a model of this course in .*, got another"):
        open_translator(run)


WRONG = {
    "data": (None, 5, True, [], ["a"], ["a", 1]),
    "data_checksum": ("5",),  # of nothing, for where it stands there is no data
    "reverse": (None, 5, "5"),
    "seed": (None, "7", 1.0, True, -5, 2**32, 10**40),
    "beam": ("5", 2.5, True, 0, -1, 1001),
    "length_penalty": ("5", False, 11, -10.5, math.nan, math.inf),
    "tokenize": (None, 5, "5", ["13a"]),
}


@pytest.mark.parametrize("name", READ)
def test_options_are_what_training_wrote(name, tmp_path):
    assert WRONG.keys() == READ.keys()
    for value in WRONG[name]:
        (tmp_path / "options.json").write_text(json.dumps({name: value}))
        asked = name.removesuffix("_checksum")
        with pytest.raises(ValueError, match=f"expected for '{asked}' in .*options.json what train writes there, got "):
            recorded_options(tmp_path)


def test_right_options_are_read_as_they_are(tmp_path):
    for data in ("5", ["a", "b"]):
        right = {"data": data, "data_checksum": "5", "reverse": True, "seed": 10**9, "beam": 5, "length_penalty": 5}
        (tmp_path / "options.json").write_text(json.dumps(right))
        assert recorded_options(tmp_path) == right


@pytest.mark.parametrize(
    "curve",
    [
        [],
        [POINT, POINT | {"step": 400, "val_loss": 2.0}],
        [POINT, POINT | {"val_loss": math.inf}],
    ],
    ids=["none", "two", "not finite"],
)
def test_the_curve_is_data_and_a_picture(curve, tmp_path):
    save_curve(tmp_path, curve)
    assert json.loads((tmp_path / "curve.json").read_text()) == curve
    root = ElementTree.parse(tmp_path / "curve.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = "".join(root.itertext())
    for words in ("validation loss", "nats per target token", "updates", "training time (seconds)", "target tokens"):
        assert words in texts
    finite = [point["val_loss"] for point in curve if math.isfinite(point.get("val_loss", math.nan))]
    assert ("no evaluation yet" in texts) == (not finite)
    if finite:
        assert f"{min(finite):.3f}" in texts


def test_a_file_of_pairs_that_has_changed_is_refused(tmp_path):
    pairs, run = tmp_path / "pairs.tsv", tmp_path / "run"
    pairs.write_text("a\tb\n")
    prepare(run, OPTIONS | {"data": str(pairs)})
    (run / "checkpoints").mkdir()
    save_checkpoint(run / "checkpoints" / "step-00000001.pt", {})
    prepare(run, OPTIONS | {"data": str(pairs)})
    pairs.write_text("a\tb\nc\td\n")
    with pytest.raises(ValueError, match=r"expected the sentences with which the training in .* began, got others in"):
        prepare(run, OPTIONS | {"data": str(pairs)})
    with pytest.raises(ValueError, match="put the old file back, or name another folder or file"):
        check_data(run, {"data": None})


def test_a_model_without_its_checkpoints_is_not_overwritten(tmp_path):
    prepare(tmp_path, OPTIONS)
    (tmp_path / "model.pt").touch()
    prepare(tmp_path, OPTIONS)
    with pytest.raises(ValueError, match="expected the options of the training in"):
        prepare(tmp_path, OPTIONS | {"d_model": 16})


def test_corpora_with_names_are_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "multi30k").touch()
    prepare(tmp_path / "run", OPTIONS | {"data": "multi30k"})
    assert recorded_options(tmp_path / "run")["data"] == "multi30k"


def test_two_files_are_recorded_and_checked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    src, tgt, run = tmp_path / "a.de", tmp_path / "a.en", tmp_path / "run"
    src.write_text("a\nb\n")
    tgt.write_text("c\nd\n")
    options = OPTIONS | {"data": ["a.de", "a.en"]}
    prepare(run, options)
    assert recorded_options(run)["data"] == [str(src.resolve()), str(tgt.resolve())]
    (run / "checkpoints").mkdir()
    save_checkpoint(run / "checkpoints" / "step-00000001.pt", {})
    prepare(run, options)
    with pytest.raises(ValueError, match=r"expected the options of the training in .* \(--data \S*a.de \S*a.en\), got"):
        prepare(run, OPTIONS | {"data": ["a.en", "a.de"]})
    for text, other in (("c\ne\n", "a\nb\n"), ("d\n", "a\nb\nc\n")):  # the second: a line went to the other file
        tgt.write_text(text)
        src.write_text(other)
        with pytest.raises(ValueError, match=r"began, got others in .*a.de or .*a.en: put the old file back"):
            prepare(run, options)


def test_sentences_that_are_gone_are_asked_for(tmp_path):
    (tmp_path / "options.json").write_text(json.dumps({"data": "gone.tsv", "data_checksum": "0"}))
    with pytest.raises(ValueError, match=r"expected the sentences of the training in gone\.tsv, got no file there"):
        check_data(tmp_path, {"data": None})
