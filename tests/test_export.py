"""What `export` writes: files that other programs load, equal to the translator that they were written from."""

import json
import re
from base64 import b64decode

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, load_model, save
from small_run import make_run, make_translator

from course_lib.bpe.byte_level import ByteBPE, load_tokenizer
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.stored import FOLDER, model
from course_lib.transformer import Transformer, TransformerConfig
from course_lib.translation import Translator
from course_lib.translation.commands import export
from course_lib.translation.commands.export import SCALE, for_pages, packed

SRC, TGT_IN = torch.tensor([[200, 201, 2]]), torch.tensor([[1, 202, 203]])


def pre_norm() -> Translator:
    """A translator of the kind that `train` makes of the course corpus, tiny."""
    vocabulary = make_translator().vocabulary
    config = TransformerConfig(vocabulary.vocab_size, d_model=8, n_heads=2, d_ff=16, n_layers=2, norm_first=True)
    return Translator(Transformer(config), vocabulary)


def gru() -> Translator:
    vocabulary = make_translator().vocabulary
    return Translator(Seq2Seq(Seq2SeqConfig(vocabulary.vocab_size, d_model=8, attention=True)), vocabulary)


@pytest.mark.parametrize("make", [pre_norm, gru, make_translator, lambda: make_translator(subwords=ByteBPE)])
def test_what_is_loaded_back_is_the_same(make, tmp_path, capsys):
    translator = make()
    translator.save(tmp_path / "run")
    assert export.main([str(tmp_path / "run"), "--output", str(tmp_path / "out")]) == 0
    written = {path.name: path.stat().st_size for path in (tmp_path / "out").iterdir()}
    assert {re.split(r"[/ ]+", line)[-3]: line.split()[1] for line in capsys.readouterr().out.splitlines()} == {
        name: f"{size:,}" for name, size in written.items()
    }
    assert written.keys() - {"weights.js"} == {"model.safetensors", "config.json", "vocabulary.json"}
    assert ("weights.js" in written) == (make is pre_norm), "the pages read what the course's training makes"
    assert load_tokenizer(tmp_path / "out" / "vocabulary.json").checksum == translator.vocabulary.checksum
    config = json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))
    again = type(translator.model)(type(translator.model.config)(**config))
    assert load_model(again, tmp_path / "out" / "model.safetensors") == (set(), [])
    assert again.config == translator.model.config
    with torch.no_grad():
        assert torch.equal(again.eval()(SRC, TGT_IN), translator.model.eval()(SRC, TGT_IN))


def test_the_folder_is_named_as_for_the_other_commands_or_as_a_word(tmp_path, capsys):
    run = str(make_run(tmp_path / "run"))
    written = []
    for words in (["--folder", run], [run]):
        assert export.main(words) == 0
        written.append(capsys.readouterr().out)
    assert written[0] == written[1]
    assert f"{tmp_path / 'run' / 'exported' / 'config.json'}  " in written[0]
    for words, got in (([], "none"), ([run, "--folder", run], "two")):
        with pytest.raises(SystemExit, match="2"):
            export.main(words)
        error = capsys.readouterr().err
        assert f"expected the folder of a training, got {got}: name it with --folder" in error
        assert error.count("\n") == 1


def test_a_tied_matrix_stands_once_and_untied_ones_apart(tmp_path):
    (tmp_path / "tied").write_bytes(packed(pre_norm()))
    assert "src_embedding.tokens.weight" in load_file(tmp_path / "tied")
    assert not {"tgt_embedding.tokens.weight", "output.weight"} & load_file(tmp_path / "tied").keys()
    untied = Translator(
        Transformer(TransformerConfig(**{**vars(pre_norm().model.config), "tied": False})), pre_norm().vocabulary
    )
    (tmp_path / "untied").write_bytes(packed(untied))
    assert load_file(tmp_path / "untied").keys() == untied.model.state_dict().keys()


def test_the_script_for_pages_holds_the_rounded_file(tmp_path):
    translator = pre_norm()
    translator.save(tmp_path)
    assert export.main([str(tmp_path)]) == 0
    script = (tmp_path / "exported" / "weights.js").read_bytes()
    content = b64decode(re.fullmatch(rb'globalThis.courseTranslatorWeights = "(.*)";\n', script)[1])
    again = packed(translator, rounding=True)  # safetensors writes its metadata in any order
    assert (len(content), content[-1000:]) == (len(again), again[-1000:])
    (tmp_path / "file").write_bytes(content)
    with safe_open(tmp_path / "file", "pt") as file:
        assert json.loads(file.metadata()["config"])["n_layers"] == 2
        assert json.loads(file.metadata()["vocabulary"])["merges"] == list(map(list, translator.vocabulary.merges))
    numbers = load_file(tmp_path / "file")
    for name, weight in translator.model.named_parameters():
        scale = numbers.get(name + SCALE, torch.ones(1))
        assert (numbers[name] * scale - weight).abs().max() <= scale.max() / 2 * (weight.dim() > 1) + 1e-7


def test_the_stored_translator_is_packed_to_the_bytes_that_are_stored():
    """Its rows hold 127 at their largest number, so rounding them again changes nothing but last digits of scales."""
    stored, again = load_file(FOLDER / "translator.safetensors"), packed(model("translator"), rounding=True)
    header = json.loads(again[8 : 8 + int.from_bytes(again[:8], "little")])
    with safe_open(FOLDER / "translator.safetensors", "pt") as file:
        assert header.pop("__metadata__") == file.metadata()
    assert header.keys() == stored.keys()
    assert len(for_pages(again)) <= 1_400_000, "the card on the pages says how much it loads"


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(number, tmp_path, capsys):
    translator = pre_norm()
    translator.model.output.weight.data[3, 5] = number
    translator.save(tmp_path)
    assert export.main([str(tmp_path)]) == 1
    assert "expected weights that are numbers, got NaN or infinity in src_embedding" in capsys.readouterr().err
    assert not (tmp_path / "exported").exists()


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "model.safetensors", "weights.js"])
def test_files_that_are_not_of_an_export_are_spared(name, tmp_path, capsys):
    run, mine = make_run(tmp_path / "run"), tmp_path / "mine" / name
    mine.parent.mkdir()
    for content in (b"", b"{}", b'{"model_type": "bert", "vocab_size": 7}', save({"w": torch.ones(1)})):
        mine.write_bytes(content)
        assert export.main([str(run), "--output", str(mine.parent)]) == 1
        assert f"got {mine}, which export did not write: name another folder" in capsys.readouterr().err
        assert [path.read_bytes() for path in mine.parent.iterdir()] == [content]


def test_an_export_is_written_a_second_time(tmp_path):
    pre_norm().save(tmp_path)
    for _ in range(2):
        assert export.main([str(tmp_path)]) == 0
    assert len(list((tmp_path / "exported").iterdir())) == 4


def test_what_is_no_translator_is_refused_in_one_line(tmp_path, capsys):
    assert export.main([str(tmp_path)]) == 1
    assert "got no model.pt: train into that folder first" in capsys.readouterr().err
    make_run(tmp_path)
    assert export.main([str(tmp_path), "--average", "2"]) == 1
    assert "expected 2 checkpoints" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert export.main([str(tmp_path), "--output", str(tmp_path / "file")]) == 1
    assert export.main([str(tmp_path), "--output", str(tmp_path)]) == 1
    assert "expected a folder without a training for the files" in capsys.readouterr().err
    assert not (tmp_path / "exported").exists()
