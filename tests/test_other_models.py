"""Each line of the page *Use other models here* runs, and prints what stands below it."""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
import torch
import weights
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tools.environment import ROOT

os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = pytest.importorskip("transformers")
PAGE = (ROOT / "book" / "other_models.md").read_text(encoding="utf-8")
FIRST, REST = PAGE.split("## Llama, Qwen2, and Qwen3, from a folder")
SIZES = {"vocab_size": 300, "hidden_size": 30, "num_attention_heads": 15, "num_key_value_heads": 5}


def blocks(text, kind):
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


def printed(text):
    """What all the Python of a part of the page prints, in one process."""
    names = {}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for block in blocks(text, "python"):
            exec(block, names)
    return out.getvalue()


def save_tokenizer(folder):
    """A small byte-level vocabulary, trained on the page."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator([PAGE], trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet))
    tokenizer.save(str(folder / "tokenizer.json"))


@weights.needed
def test_the_first_model_answers():
    assert printed(FIRST) == "".join(blocks(FIRST, "text"))


def test_the_models_of_folders_run(tmp_path, monkeypatch):
    """Small models with random weights, and with the fields that the page prints."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    llama = transformers.LlamaConfig(**SIZES, head_dim=4, num_hidden_layers=2, intermediate_size=17)
    transformers.LlamaForCausalLM(llama).save_pretrained("SmolLM2-360M")
    gpt2 = transformers.GPT2Config(vocab_size=300, n_embd=12, n_head=3, n_layer=12)
    transformers.GPT2LMHeadModel(gpt2).save_pretrained("gpt2")
    sides = {"layers": 6, "attention_heads": 2, "ffn_dim": 17}
    sizes = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in sides.items()}
    ids = {"vocab_size": 1101, "pad_token_id": 1100, "decoder_start_token_id": 1100, "eos_token_id": 0}
    kept = {"scale_embedding": True, "activation_function": "swish", "d_model": 8, "max_position_embeddings": 64}
    transformers.MarianMTModel(transformers.MarianConfig(**sizes, **ids, **kept)).save_pretrained("opus-mt-ko-en")
    for name in ("SmolLM2-360M", "gpt2"):
        save_tokenizer(tmp_path / name)
    assert printed(REST) == "".join(blocks(REST, "text"))


def test_the_commands_of_the_page_are_commands():
    commands = [shlex.split(line) for block in blocks(PAGE, "bash") for line in block.splitlines()]
    assert commands[0] == ["make", "weights"]
    program = shutil.which("hf", path=os.path.dirname(sys.executable))
    known = subprocess.run([program, "download", "--help"], capture_output=True, text=True, check=True).stdout
    for words in commands[1:]:
        assert words[:2] == ["hf", "download"]
        assert words[3] == "--local-dir"
        assert words[3] in known
        assert f'"{words[4]}' in REST
