"""Which parts the language models of each year have, counted in the code of the library `transformers`.

    python -m experiments.modern_today

The installed library is read, and nothing of it is imported. A *family* is a folder of the library with a model that
its table of causal language models names, and that its tables of encoders and of encoder–decoders do not. (So GPT-2
counts, although it can be given a cross-attention.) `LEFT_OUT` are those that need another model, a picture, or speech.

From the class of the model we follow every name that its file defines, so that parts for pictures in the same file do
not count, and neither do comments, docstrings, and decorators. A part is there when a name in that code says so; the
names are patterns, `PARTS`. A configuration may still switch a part off. `CHECKED` are families that a person read, and
`wrong` lists every place where a pattern says otherwise. The year is the first one in the copyright line of the code:
that of the code in this library, which may be a year off (the file of Llama, 2023, says 2022). Half a minute.
"""

import ast
import re
from collections.abc import Iterator
from datetime import date
from importlib import metadata
from pathlib import Path

from course_lib.stored import FOLDER
from experiments import store

ROUTES = r"sliding|is_local|use_rope|force_rope|position_embeddings is not None"  # what asks which layers get RoPE
PARTS = {
    "RMSNorm": r"\w*RMSNorm\w*",
    "RoPE": r"apply_\w*rotary\w*",
    "gated FFN": r"gate_proj|gate_up_proj|up_gate_proj|w3|Wi|proj_up_gate|input_linear",
    "grouped keys": r"num_key_value_heads|num_kv_heads|num_key_value_groups|multi_query|repeat_kv",
    "QK-norm": r"(q|qk|query)_?(layer)?norm",
    "sliding window": r"create_sliding_window_causal_mask|window_size",
    "latent keys": r"kv_lora_rank",
    "sinks": r"sinks",
    "recurrent or linear": r"(?i:\w*(mamba|delta_?net|delta_?attention|linear_attn|lightning|rg_?lru|rwkv|xlstm)\w*"
    r"|lfm\w*shortconv)",
    "experts": r"experts|\w*MoE|\w*Experts|\w*ExpertGLU",
    "layers without RoPE": r"if .*(" + ROUTES + r").*",
}
LEFT_OUT = {
    "fuyu": "its language model is the family persimmon",
    "gemma4_assistant": "guesses words for another model",
    "gemma4_unified_assistant": "guesses words for another model",
    "git": "writes about pictures",
    "mllama": "attends across to pictures",
    "moshi": "speaks",
    "trocr": "attends across to pictures of text",
    "xlnet": "reads the words in another order",
}
FOUR = {"RMSNorm", "RoPE", "gated FFN", "grouped keys"}
CHECKED = {
    "gpt2": set(),
    "opt": set(),
    "falcon": {"RoPE", "grouped keys"},
    "llama": FOUR,
    "mixtral": FOUR | {"experts", "sliding window"},
    "olmo2": FOUR | {"QK-norm"},
    "jamba": FOUR - {"RoPE"} | {"recurrent or linear", "experts"},
    "mamba": {"RMSNorm", "recurrent or linear"},
    "gemma3": FOUR | {"QK-norm", "sliding window"},
    "deepseek_v3": FOUR - {"grouped keys"} | {"latent keys", "experts"},
    "gpt_oss": FOUR | {"sinks", "sliding window", "experts"},
    "qwen3_next": FOUR | {"QK-norm", "recurrent or linear", "experts"},
    "llama4": FOUR | {"QK-norm", "experts", "layers without RoPE"},
    "cohere2": FOUR - {"RMSNorm"} | {"sliding window", "layers without RoPE"},
    "granitemoehybrid": FOUR | {"recurrent or linear", "experts"},
    "mimo_v2_flash": FOUR | {"sliding window", "sinks", "experts"},
    "xlstm": {"RMSNorm", "gated FFN", "recurrent or linear"},
    "bamba": FOUR | {"recurrent or linear"},
    "kimi_linear": {"RMSNorm", "gated FFN", "latent keys", "recurrent or linear", "experts"},
}


def table(text: str, name: str) -> dict[str, str]:
    """One of the library's tables: the class of each kind of model."""
    body = text.split(f"{name} = OrderedDict(")[1].split("\n)\n")[0]
    return dict(re.findall(r'\("([^"]+)",\s*"([^"]+)"\)', body))


def language_models(auto: str) -> set[str]:
    """The names of the classes that predict the next word of one text."""
    others = ("MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM", "SPEECH_SEQ_2_SEQ", "TEXT_TO_WAVEFORM")
    kinds = set().union(*(table(auto, f"MODEL_FOR_{other}_MAPPING_NAMES") for other in others))
    causal = table(auto, "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES")
    return {name for kind, name in causal.items() if kind not in kinds and re.search("ForCausalLM|LMHeadModel", name)}


def names(node: ast.AST) -> Iterator[str]:
    """All names in a piece of code but those of its decorators, and the questions that decide about RoPE."""
    for child in ast.iter_child_nodes(node):
        if child not in getattr(node, "decorator_list", []):
            yield from names(child)
    for field in ("id", "attr", "name", "arg"):
        if isinstance(name := getattr(node, field, None), str):
            yield name
    inside = (name for line in getattr(node, "body", []) for name in names(line)) if isinstance(node, ast.If) else ()
    if any(re.fullmatch(PARTS["RoPE"], name) for name in inside):
        yield f"if {ast.unparse(node.test)}"


def definitions(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """What a file defines: classes, functions, and tables, also where an `if` stands around them."""
    for node in body:
        if isinstance(node, ast.If):
            yield from definitions([*node.body, *node.orelse])
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node


def words(text: str, models: set[str]) -> set[str]:
    """The names in the code of these classes, and of all that they use from the same file.

    >>> code = "def helper():\\n    sinks = 0\\ndef unused():\\n    experts = 1\\nclass A:\\n    x = helper()"
    >>> sorted(words(code, {"A"}))
    ['A', 'helper', 'sinks', 'x']
    """
    defined = dict(definitions(ast.parse(text).body))
    found, open_names, seen = set(), models & defined.keys(), set()
    while open_names:
        name = open_names.pop()
        seen.add(name)
        if not re.search("Vision|Audio|Image", name):
            used = set(names(defined[name]))
            found |= used
            open_names |= (used & defined.keys()) - seen
    return found


def parts_of(found: set[str]) -> set[str]:
    """The parts that these names speak of. Latent keys are another way to a small cache than grouped ones."""
    parts = {part for part, pattern in PARTS.items() if any(re.fullmatch(pattern, word) for word in found)}
    return parts - {"grouped keys"} if "latent keys" in parts else parts


def year_of(folder: Path) -> int:
    """The first year that a copyright line of the family's code names."""
    for kind in ("modeling_*", "modular_*", "configuration_*", "__init__"):
        for path in sorted(folder.glob(f"{kind}.py")):
            if year := re.search(r"Copyright (?:\(c\) )?(\d{4})", path.read_text("utf-8"), re.IGNORECASE):
                return int(year[1])
    raise ValueError(f"expected a year in the code of {folder.name}, got none: say it in LEFT_OUT")


def read_families(library: Path) -> dict[str, dict]:
    """Year and parts of each family in the library's folder `models`."""
    models = language_models((library / "auto" / "modeling_auto.py").read_text("utf-8"))
    families = {}
    for path in sorted(library.glob("*/modeling_*.py")):
        text = path.read_text("utf-8")
        own = models & set(re.findall(r"^class (\w+)", text, re.MULTILINE))
        if own and path.parent.name not in LEFT_OUT:
            found = parts_of(words(text, own))
            families[path.parent.name] = {"year": year_of(path.parent), "parts": sorted(found, key=[*PARTS].index)}
    return families


def counted(families: dict[str, dict]) -> list[dict]:
    """For each year, how many families there are and how many of them have each part."""
    rows = []
    for year in sorted({family["year"] for family in families.values()}):
        some = [family["parts"] for family in families.values() if family["year"] == year]
        rows.append({"year": year, "families": len(some), **{part: sum(part in own for own in some) for part in PARTS}})
    return rows


def main(folder: Path = FOLDER) -> None:
    package = metadata.distribution("transformers")
    families = read_families(Path(package.locate_file("transformers")) / "models")
    known = {name: parts for name, parts in CHECKED.items() if name in families}  # an older library has fewer
    wrong = [
        {"family": name, "part": part}
        for name, parts in known.items()
        for part in sorted(parts ^ set(families[name]["parts"]))
    ]
    rows = counted(families)
    for row in rows:
        print(row)
    print(len(families), "families, wrong:", wrong)
    about = {"library": "transformers", "version": package.version, "read": date.today().isoformat()}
    checked = {"families": sorted(known), "parts": len(PARTS), "wrong": wrong}
    store(__file__, [0], folder, **about, left_out=LEFT_OUT, checked=checked, rows=rows, families=families)


if __name__ == "__main__":
    main()
