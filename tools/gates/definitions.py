"""One definition, two places: the chapter's definition cells and the library's module are the same code."""

import ast
from pathlib import Path

from nbformat import NotebookNode

from tools.gates.parsing import read, syntax_tree

Definition = ast.FunctionDef | ast.ClassDef

# Public definitions that their chapter does not show, each with the reason.
NOT_SHOWN: dict[str, str] = {
    "batching.encode_pairs": "calls the tokenizer of chapter 12",
    "batching.Epoch": "a list whose batches are made when they are asked for",
    "batching.Position": "where a training goes on: chapter 14",
    "bleu.BleuStatistics": "the ten sums of a corpus, which the chapter holds in arrays",
    "bleu.bleu_statistics": "the counts of the plain forms, but faster",
    "bleu.BleuScore": "a score with its parts, as it is printed",
    "bleu.bleu_score": "the formula of an exercise, with the rules of smoothing",
    "bleu.corpus_bleu": "an exercise builds it; this one takes texts and all of sacrebleu's settings",
    "bleu.sentence_bleu": "a corpus of one sentence",
    "bleu.check_pairs": "refuses references that do not fit",
    "beam_search.beam_search": "the plain search of the chapter, for a batch and with a rule for stopping",
    "beam_search.check_numbers": "refuses scores that are NaN",
    "beam_search.greedy_search": "the reader writes it, for one sentence",
    "beam_search.largest": "`topk` that settles ties",
    "beam_search.log_probs_of": "a softmax without the tokens that are never written",
    "bpe.BPE": "the same merges and tokens as the plain forms, but faster",
    "masks.check_mask": "refuses a mask of another type or shape",
    "training.TrainingSettings": "the numbers of a training, checked",
    "training.plain_loss": "the chapter's loss, for any model",
    "training.fastest_precision": "what a machine computes fastest: chapter 19",
    "transformer.PrefixState": "what a search remembers: chapter 15",
    "transformer.make_embedding": "chooses between two embeddings of chapter 07",
    "translation.UnseenCharacter": "a character that the training never saw, as it is reported",
    "translation.Translator": "a model with its vocabulary, from text to text by the search of chapter 15",
    "translation.exact_match": "compares texts to the letter, readings counted",
    "translation.alignment_accuracy": "counts how often the words that an exercise aligns are gold partners",
}


def definitions(source: str) -> dict[str, Definition]:
    """The functions and classes at the top level of a source, by name."""
    return {node.name: node for node in syntax_tree(source).body if isinstance(node, Definition)}


def module_of(path: Path, library: Path, cell: NotebookNode | None = None) -> Path:
    """The module of a chapter's subject, or the one that a cell's tag `definition:course_lib.masks` names.

    The module of a package is its `__init__.py`.
    """
    name = path.stem[3:]
    for tag in cell.metadata.get("tags", []) if cell else []:
        if tag.startswith("definition:"):
            name = tag.removeprefix("definition:").removeprefix("course_lib.").replace(".", "/")
    package = library / name / "__init__.py"
    return package if package.exists() else library / f"{name}.py"


def is_definition_cell(cell: NotebookNode, module: Path) -> bool:
    """Code that consists of definitions alone, of names that the module has."""
    if cell.cell_type != "code" or not module.exists():
        return False
    body = syntax_tree(cell.source).body
    known = definitions(module.read_text(encoding="utf-8"))
    return bool(body) and all(isinstance(node, Definition) and node.name in known for node in body)


def same_as_library(path: Path, library: Path) -> list[str]:
    """Each definition cell equals the module's code as a syntax tree; each public definition is shown."""
    found, shown = [], set()
    for cell in read(path).cells:
        if cell.cell_type != "code":
            continue
        module = module_of(path, library, cell)
        where = f"{path.name}, cell {cell.id!r}"
        if not module.exists():
            if module != module_of(path, library):
                found.append(f"{where}: its tag names {module.name}, which the library does not have: mend the tag")
            continue
        known = definitions(module.read_text(encoding="utf-8"))
        defined = definitions(cell.source)
        if any(tag.startswith("definition:") for tag in cell.metadata.get("tags", [])):
            found += [
                f"{where}: its tag names {module.name}, which has no {name!r}: give it the name that it has there"
                for name in defined
                if name not in known
            ]
        here = {name: node for name, node in defined.items() if name in known}
        if here and not is_definition_cell(cell, module):
            name = next(iter(here))
            found.append(
                f"{where}: {name!r} is a definition of {module.name} among other code: "
                "leave the definition alone in its cell, or give this one another name"
            )
            continue
        for name, node in here.items():
            if ast.dump(node) != ast.dump(known[name]):
                found.append(f"{where}: {name!r} differs from the one in {module.name}: run make sync")
            if module == module_of(path, library):
                shown.add(name)
    module = module_of(path, library)
    for name in definitions(module.read_text(encoding="utf-8")) if module.exists() else ():
        if name not in shown and not name.startswith("_") and f"{path.stem[3:]}.{name}" not in NOT_SHOWN:
            found.append(f"{path.name}: {name!r} of {module.name} is not shown: add a cell with it, then make sync")
    return found


def source_of(module: str, node: Definition) -> str:
    """The lines of a definition, its decorators included."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return "\n".join(module.split("\n")[first - 1 : node.end_lineno])
