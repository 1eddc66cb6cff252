"""The order of both packages: imports point down, no circles, documented definitions."""

import ast
from pathlib import Path

# The floors of course_lib, lowest first: a module imports from its own floor and from those below. A package stands on
# one floor as a whole.
BUILDING = (
    ("tokens", "reproducible", "files", "sizes", "text"),
    (
        *("attention", "masks", "multi_head", "positional_encoding", "layer_norm", "attention_view", "probes"),
        *("bpe", "corpus", "batching", "bleu"),
    ),
    ("encoder", "decoder", "seq2seq", "image_attention"),
    ("transformer", "modern", "language_model", "figures"),
    ("fast", "training", "beam_search", "sampling", "pretrained", "own_text"),
    ("translation", "__main__"),
    ("stored",),
)
FLOORS = {name: floor for floor, names in enumerate(BUILDING) for name in names}
# These know arrays and strings only: they import nothing else of course_lib.
ALONE = ("figures",)
# What these packages of course_practice may import of it. The engine is handed the search and the exercises.
LOWEST = {"engine": {"engine", "markup"}, "suggest": {"suggest", "engine", "inputs"}}


def imports(path: Path) -> set[str]:
    """What a file of course_lib imports of the course, anywhere in it: `masks`, `figures`, or `course_practice`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
            if node.module == "course_lib":  # its modules; the package's own names (`__version__`) stand on no floor
                names = [f"course_lib.{alias.name}" for alias in node.names if not alias.name.startswith("__")]
        elif isinstance(node, ast.ImportFrom):
            names = ["course_lib..relative"]
        else:
            continue
        found |= {name.split(".")[1] or "a relative import" for name in names if name.startswith("course_lib.")}
        found |= {name.split(".")[0] for name in names if name.split(".")[0] == "course_practice"}
    return found


def modules(library: Path) -> dict[str, list[Path]]:
    """The files of each module or package of the library, by its name."""
    found = {path.stem: [path] for path in sorted(library.glob("*.py")) if path.stem != "__init__"}
    for package in sorted(path.parent for path in library.glob("*/__init__.py")):
        found[package.name] = sorted(package.rglob("*.py"))
    return found


def downward(library: Path, floors: dict[str, int] = FLOORS) -> list[str]:
    """Imports point down or sideways, never up."""
    found = []
    for name, files in modules(library).items():
        if name not in floors:
            found.append(f"course_lib.{name} stands on no floor: give it one in tools/gates/imports.py")
            continue
        for path, other in [(file, other) for file in files for other in sorted(imports(file)) if other != name]:
            where = f"{path.relative_to(library.parent)} imports {other}"
            if other == "a relative import":
                found.append(f"{where}: write the module's whole name, from course_lib")
            elif other == "course_practice":
                found.append(f"{where}, but practice stands on the library: move what you need down")
            elif other not in floors:
                found.append(f"{where}, which stands on no floor: give it one in tools/gates/imports.py")
            elif name in ALONE:
                found.append(f"{where}, but {name} knows arrays and strings only: pass it what it needs")
            elif floors[other] > floors[name]:
                found.append(f"{where}, from floor {floors[name]} up to {floors[other]}: pass it in, or move it down")
    return found


def names_of(path: Path, package: str) -> set[str]:
    """What a file imports of a package, anywhere in it, by its whole name below the package's: `engine.run.Limit`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix(f"{package}.") for name in found if name.startswith(f"{package}.")}


def handed_in(practice: Path) -> list[str]:
    """The lowest packages of course_practice import nothing of those above them."""
    found = []
    for package, allowed in LOWEST.items():
        for path in sorted((practice / package).rglob("*.py")):
            above = {name.split(".")[0] for name in names_of(path, practice.name)} - allowed
            found += [f"{path.relative_to(practice.parent)} imports {other}: hand it in" for other in sorted(above)]
    return found


def circles(library: Path) -> list[str]:
    """No module, or package, of the library needs itself by way of others."""
    return _circles({name: set().union(*map(imports, files)) - {name} for name, files in modules(library).items()})


def circles_of_files(package: Path) -> list[str]:
    """No file of a package needs itself by way of others."""
    files = {
        ".".join(path.relative_to(package).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(package.rglob("*.py"))
    }

    def file_of(name: str) -> str:
        return name if name in files or "." not in name else file_of(name.rpartition(".")[0])

    return _circles({name: {*map(file_of, names_of(path, package.name))} - {name} for name, path in files.items()})


def _circles(needs: dict[str, set[str]]) -> list[str]:
    def way(start: str, goal: str, seen: set[str]) -> list[str]:
        for other in sorted(needs.get(start, ())):
            if other == goal:
                return [start, goal]
            if other not in seen:
                seen.add(other)
                rest = way(other, goal, seen)
                if rest:
                    return [start, *rest]
        return []

    rounds: dict[frozenset, list[str]] = {}
    for name in sorted(needs):
        trip = way(name, name, set())
        if trip:
            rounds.setdefault(frozenset(trip), trip)
    return [f"imports go in a circle: {' → '.join(trip)}: move what both need into a third" for trip in rounds.values()]


def banks(practice: Path) -> set[Path]:
    """The files that hold questions and exercises: data, which may be long and need no docstrings."""
    files = [*(practice / "quizzes").glob("*.py"), *(practice / "exercises").glob("*/*.py")]
    return {path for path in files if path.parent.name != "engine" and path.stem != "__init__"}


def documented(path: Path, examples: bool = True) -> list[str]:
    """Each public definition says in a docstring what it does; with `examples`, it also shows it.

    Records (classes that at most check their values) need no example: the functions that take them have one.
    """
    found = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        words = ast.get_docstring(node)
        methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
        record = isinstance(node, ast.ClassDef) and methods <= {"__post_init__"}
        if not words:
            found.append(f"{path.name}: {node.name!r} has no docstring: say in one sentence what it does")
        elif examples and not record and ">>> " not in words:
            found.append(f"{path.name}: {node.name!r} shows no example: add one to its docstring, it runs as a test")
    return found
