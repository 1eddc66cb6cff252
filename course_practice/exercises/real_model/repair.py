from dataclasses import dataclass

import torch

from course_lib.language_model import LanguageModel, LanguageModelConfig
from course_lib.pretrained import to_halves
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def load(config, file):
    """A tied model with the weights of a file that follows GGUF."""
    model = LanguageModel(config)
    parts = {
        "attn_norm": "norm_1.gain",
        "attn_q": "attention.w_q.weight",
        "attn_k": "attention.w_k.weight",
        "attn_v": "attention.w_v.weight",
        "attn_output": "attention.w_o.weight",
        "ffn_norm": "norm_2.gain",
        "ffn_gate": "feed_forward.w_1.weight",
        "ffn_up": "feed_forward.w_3.weight",
        "ffn_down": "feed_forward.w_2.weight",
    }
    heads = {"attn_q": config.n_heads, "attn_k": config.n_kv_heads}
    state = {
        "tokens.weight": file["token_embd.weight"],
        "norm.gain": file["output_norm.weight"],
    }
    for i in range(config.n_layers):
        for part, name in parts.items():
            weight = file[f"blk.{i}.{part}.weight"]
            if part in heads:
                weight = to_halves(weight, heads[part])
            state[f"blocks.{i}.{name}"] = weight
    model.load_state_dict(state, strict=False, assign=True)
    model.output.weight = model.tokens.weight
    return model


def copied_into_the_model(config, file):
    model = LanguageModel(config)
    with torch.no_grad():
        model.tokens.weight.copy_(file["token_embd.weight"])
        model.norm.gain.copy_(file["output_norm.weight"])
        for i, block in enumerate(model.blocks):
            attention, network = block.attention, block.feed_forward
            attention.w_q.weight.copy_(to_halves(file[f"blk.{i}.attn_q.weight"], config.n_heads))
            attention.w_k.weight.copy_(to_halves(file[f"blk.{i}.attn_k.weight"], config.n_kv_heads))
            attention.w_v.weight.copy_(file[f"blk.{i}.attn_v.weight"])
            attention.w_o.weight.copy_(file[f"blk.{i}.attn_output.weight"])
            network.w_1.weight.copy_(file[f"blk.{i}.ffn_gate.weight"])
            network.w_2.weight.copy_(file[f"blk.{i}.ffn_down.weight"])
            network.w_3.weight.copy_(file[f"blk.{i}.ffn_up.weight"])
            block.norm_1.gain.copy_(file[f"blk.{i}.attn_norm.weight"])
            block.norm_2.gain.copy_(file[f"blk.{i}.ffn_norm.weight"])
    return model


@dataclass
class _Sizes:
    """Those of the model of a case."""

    vocab_size: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    d_k: int
    d_ff: int
    n_layers: int

    def __repr__(self):
        heads = f"{self.n_heads} heads of queries and {self.n_kv_heads} of keys, each {self.d_k} wide"
        return f"<{heads}, in {self.n_layers} layer{'s' * (self.n_layers > 1)}>"


@dataclass
class _Seed:
    """That of the weights of a file."""

    number: int

    def __repr__(self):
        return "<random weights, under the names of GGUF>"


def _file(config, seed):
    """Random weights as a file holds them: W_Q and W_K for neighboring pairs, gains that differ."""
    d_model, d_ff, width = config.d_model, config.d_ff, config.head_width
    shapes = {"token_embd": (config.vocab_size, d_model), "output_norm": (d_model,)}
    for i in range(config.n_layers):
        shapes |= {
            f"blk.{i}.attn_norm": (d_model,),
            f"blk.{i}.attn_q": (config.n_heads * width, d_model),
            f"blk.{i}.attn_k": (config.n_kv_heads * width, d_model),
            f"blk.{i}.attn_v": (config.n_kv_heads * width, d_model),
            f"blk.{i}.attn_output": (d_model, config.n_heads * width),
            f"blk.{i}.ffn_norm": (d_model,),
            f"blk.{i}.ffn_gate": (d_ff, d_model),
            f"blk.{i}.ffn_up": (d_ff, d_model),
            f"blk.{i}.ffn_down": (d_model, d_ff),
        }
    return {
        f"{name}.weight": randn(*shape, seed=seed + number) / shape[-1] ** (0.5 * (len(shape) > 1))
        for number, (name, shape) in enumerate(shapes.items())
    }


def _read(obj, given):
    """The parameters of a loaded model, counted, and its logits for one text."""
    sizes, seed = given.args
    config = LanguageModelConfig(**vars(sizes), scaled=False, pad_id=-1)
    ids = torch.arange(12).remainder(config.vocab_size)[None]
    torch.default_generator.manual_seed(0)
    model = obj(config, _file(config, seed.number))
    if model is None:
        return None
    if not isinstance(model, LanguageModel):
        raise TypeError(f"expected a LanguageModel, got {type(model).__name__}: return the model")
    with torch.no_grad():
        return f"{sum(p.numel() for p in model.parameters())} parameters", model.eval()(ids)


EXERCISE = Exercise(
    reference=load,
    call=_read,
    cases=lambda: [
        case(_Sizes(7, 8, 1, 1, 8, 5, 1), _Seed(10), about="one layer with one head"),
        case(_Sizes(13, 12, 4, 2, 6, 10, 2), _Seed(50), about="two layers, shared heads of keys"),
        case(_Sizes(8, 8, 8, 8, 8, 8, 1), _Seed(90), about="all sizes equal"),
        case(_Sizes(17, 6, 3, 1, 10, 9, 3), _Seed(130), about="heads wider than d_model / n_heads"),
    ],
    alternatives=(copied_into_the_model,),
)
