import re

from course_lib.pretrained import NAMES_IN_BLOCK, NORMS
from course_practice.engine import Exercise, case


def course_name(name):
    """The name in `LanguageModel.state_dict()` of a weight in the file.

    >>> course_name("blk.7.ffn_gate.weight")
    'blocks.7.feed_forward.w_1.weight'
    """
    outside = {
        "token_embd.weight": "tokens.weight",
        "output_norm.weight": "norm.gain",
        "output.weight": "output.weight",
    }
    in_block = {
        "attn_norm.weight": "norm_1.gain",
        "attn_q.weight": "attention.w_q.weight",
        "attn_k.weight": "attention.w_k.weight",
        "attn_v.weight": "attention.w_v.weight",
        "attn_output.weight": "attention.w_o.weight",
        "ffn_norm.weight": "norm_2.gain",
        "ffn_gate.weight": "feed_forward.w_1.weight",
        "ffn_up.weight": "feed_forward.w_3.weight",
        "ffn_down.weight": "feed_forward.w_2.weight",
    }
    if name in outside:
        return outside[name]
    if name.startswith("blk."):
        _blk, number, part = name.split(".", maxsplit=2)
        if part in in_block:
            return f"blocks.{number}.{in_block[part]}"
    raise ValueError(f"expected a weight of a Llama-like model, got {name!r}")


def with_a_pattern(name):
    outside = {"token_embd": "tokens.weight", "output_norm": "norm.gain", "output": "output.weight"}
    whole = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.weight", name)
    number, part = whole.groups() if whole else (None, name)
    table = outside if number is None else NAMES_IN_BLOCK
    if part not in table:
        raise ValueError(f"unknown weight: {name}")
    if number is None:
        return table[part]
    return f"blocks.{number}.{table[part]}.{'gain' if table[part] in NORMS else 'weight'}"


def _heard(obj, given):
    """The answer; of a name that was, or should be, refused, how that was done."""
    (name,) = given.args
    known = "unknown" not in given.about
    try:
        answer = obj(name)
    except ValueError as error:
        if name in str(error):
            return "a ValueError that quotes the name"
        if known:
            raise
        return "a ValueError without the name"
    except KeyError:
        if known:
            raise
        return "a KeyError"
    return answer if known or answer is None else "no error"


EXERCISE = Exercise(
    reference=course_name,
    call=_heard,
    cases=lambda: [
        case("token_embd.weight", about="the embedding"),
        case("blk.3.attn_q.weight", about="the queries of block 3"),
        case("blk.0.attn_k.weight", about="the keys"),
        case("blk.1.attn_v.weight", about="the values"),
        case("blk.2.attn_output.weight", about="the output of the attention"),
        case("blk.4.ffn_gate.weight", about="the gate"),
        case("blk.5.ffn_up.weight", about="what the gate lets through"),
        case("blk.6.ffn_down.weight", about="the way back to d_model"),
        case("blk.7.attn_norm.weight", about="the norm before the attention"),
        case("blk.8.ffn_norm.weight", about="the norm before the network"),
        case("blk.29.ffn_down.weight", about="a block whose number has two digits"),
        case("output_norm.weight", about="the last norm"),
        case("output.weight", about="the output of a model that is not tied"),
        case("position_embd.weight", about="unknown: the positions of GPT-2"),
        case("blk.2.ffn_gate_inp.weight", about="unknown: the router of a mixture"),
        case("blk.2.attn_q.bias", about="unknown: a bias"),
    ],
    alternatives=(with_a_pattern,),
)
