"""A folder as a training leaves it, with a tiny translator that has learned nothing: for tests of the commands."""

from pathlib import Path

import torch

from course_lib.bpe import BPE
from course_lib.bpe.subwords import Subwords
from course_lib.transformer import Transformer, TransformerConfig
from course_lib.translation import Translator

TEXTS = ["eins zwei drei vier", "one two three four"]


def make_translator(seed: int = 0, n_merges: int = 40, subwords: type[Subwords] = BPE) -> Translator:
    torch.manual_seed(seed)
    vocabulary = subwords.train(TEXTS, n_merges)
    return Translator(
        Transformer(TransformerConfig(vocabulary.vocab_size, d_model=8, n_heads=2, d_ff=16, n_layers=1)), vocabulary
    )


def make_run(folder: Path, seed: int = 0) -> Path:
    make_translator(seed).save(folder)
    return folder
