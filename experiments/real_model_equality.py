"""SmolLM2 in the course's code and in Hugging Face's library, which read the same file: how far apart are they?

    python -m experiments.real_model_equality

"difference" is the largest difference between two logits of a text, "largest" the largest logit. The tokenizers encode
a thousand texts: pieces of the course's pages, its Korean, numbers, and random letters. No chance but the draw of the
texts is involved: about a minute on one core. It needs `make weights` and the packages of requirements.txt.
"""

import random
from collections.abc import Callable

import torch

from course_lib.corpus import course_corpus
from course_lib.pretrained import chat, smollm2, weights_file
from experiments import store
from experiments.real_model_slips import PROMPT, page
from tools.environment import ROOT

QUESTION = "What is the capital of France?"
PIECES, PAIRS, NOISE = 400, 120, 300  # how many texts are pages, Korean, and random letters; 180 have numbers


def their_model():
    """What the library's reader makes of the file. (`from_pretrained` does the same, but asks for `accelerate`.)"""
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    with torch.device("meta"):  # no random weights, which would be thrown away
        names = LlamaForCausalLM(LlamaConfig(num_hidden_layers=30))
    file = load_gguf_checkpoint(str(weights_file()), return_tensors=True, model_to_load=names)
    config = LlamaConfig(**file["config"])
    with torch.device("meta"):
        theirs = LlamaForCausalLM(config)
    theirs.model.rotary_emb = LlamaRotaryEmbedding(config)
    unused = theirs.load_state_dict(file["tensors"], strict=False, assign=True)
    assert unused == (["lm_head.weight"], [])
    theirs.tie_weights()
    return theirs.eval()


def their_tokenizer():
    """The library's reader of the same file, with the splitting that the file names ("smollm"), which it leaves out."""
    from tokenizers import pre_tokenizers
    from transformers import AutoTokenizer

    path = weights_file()
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    digits = pre_tokenizers.Digits(individual_digits=True)
    words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    return tokenizer


def texts() -> list[str]:
    """A thousand texts: pages of the course in pieces, its Korean, numbers, and whatever letters chance gives."""
    rng = random.Random(0)
    pages = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("book/*.md"))]
    pieces = [text[i : i + 120] for text in pages for i in range(0, len(text), 120)]
    numbers = [
        f"{rng.random():.{k}f} and  {rng.randint(0, 10**k)}x{' ' * k}{k}" for k in range(1, 10) for _ in range(20)
    ]
    korean = [" ".join(pair.src) for pair in course_corpus()["val"][:PAIRS]]
    letters = "ab1 2²Ⅷ½٣\n\t 'sé한😀  ,.!\r\u00a0\u3000"
    noise = ["".join(rng.choices(letters, k=rng.randint(0, 30))) for _ in range(NOISE)]
    return rng.sample(pieces, PIECES) + numbers + korean + noise


@torch.no_grad()
def apart(model, theirs, ids: torch.Tensor) -> dict[str, float]:
    """The tokens of a text, the largest difference of two logits, and the largest logit."""
    ours, reference = model(ids), theirs(ids, use_cache=False).logits
    difference = (ours - reference).abs().max().item()
    return {"tokens": ids.shape[1], "difference": float(f"{difference:.1e}"), "largest": round(ours.max().item(), 1)}


def main(read: Callable = smollm2, model_of: Callable = their_model, tokenizer_of: Callable = their_tokenizer) -> None:
    model, tokenizer = read()
    theirs, words = model_of(), tokenizer_of()
    rows = []
    for name, ids in {
        "a beginning": torch.tensor([tokenizer.encode(PROMPT)]),
        "a chat": torch.tensor([chat(tokenizer, [QUESTION])]),
        "a page": page(tokenizer),
    }.items():
        rows.append({"text": name} | apart(model, theirs, ids))
        print(rows[-1], flush=True)
    pairs = [(tokenizer.encode(text, special=True), words.encode(text, add_special_tokens=False)) for text in texts()]
    same = sum(ours == reference for ours, reference in pairs)
    store(__file__, seeds=[0], rows=rows, texts=len(pairs), same=same, tokens=sum(len(ours) for ours, _ in pairs))


if __name__ == "__main__":
    main()
