"""The public address: `python -m tools.address [https://github.com/you/fork | none]` shows or changes it.

It is one setting, `repository.url` in _config.yml, empty until somebody publishes the course: a name that nobody owns
would let whoever registers it run code in readers' notebooks. The set-up cells, the README and the package follow; the
book shows links to the repository, and its Colab buttons, only when there is an address.
"""

import json
import re
import sys
from pathlib import Path

from tools.environment import ROOT
from tools.template import SET_UP_TAG, set_up_cell

ADDRESS = re.compile(r"^https://github\.com/([A-Za-z0-9]+(?:-[A-Za-z0-9]+)*)/([A-Za-z0-9._-]*[A-Za-z0-9_-])$")
SETTING = re.compile(r"^(repository:\n(?:[ \t]+.*\n|\n)*?[ \t]+url:[ \t]*)(\S+)", re.MULTILINE)
SENTENCE = re.compile(r"(<!-- address -->\n).*?(\n<!-- /address -->)", re.DOTALL)
PACKAGE = re.compile(r'(?:\[project\.urls\]\nSource = ".*"\n\n)?(?=\[tool\.setuptools\.dynamic\])')
NO_ADDRESS = """\
The course has no public address yet. `make address URL=https://github.com/you/fork` writes yours wherever the course
names it, and the book's pages lead to it and to Colab after the next `make book`; `make address URL=none` takes it away
again."""
# Where the address may stand. Tests look that it stands nowhere else.
PLACES = ("*.md", "_config.yml", "pyproject.toml", "chapters/*.ipynb", "book/**/*.md", ".github/**/*.yml")


def address(root: Path = ROOT) -> str:
    """The address that _config.yml states, "" for none."""
    found = SETTING.search((root / "_config.yml").read_text(encoding="utf-8"))
    if not found:
        raise ValueError("expected `repository: url:` in _config.yml, got none: add it")
    return found.group(2).strip("\"'")


def pages(url: str) -> str:
    """Where GitHub Pages shows the book of a repository.

    >>> pages("https://github.com/You/fork")
    'https://you.github.io/fork'
    """
    owner, name = _parts(url)
    return f"https://{owner.lower()}.github.io/{name}"


def places(root: Path = ROOT) -> list[Path]:
    """The files in which the address may stand."""
    return sorted({path for pattern in PLACES for path in root.glob(pattern)})


def change(url: str, root: Path = ROOT) -> list[Path]:
    """Write the address, or "" for none, wherever the course names its own; return the files that changed."""
    url = "https://github.com/" + "/".join(_parts(url)) if url else ""
    changed = []
    for path in places(root):
        text = path.read_text(encoding="utf-8")
        new = _with_address(path, text, url)
        if new != text:
            path.write_text(new, encoding="utf-8", newline="\n")
            changed.append(path)
    return changed


def _with_address(path: Path, text: str, url: str) -> str:
    if path.name == "_config.yml":
        return SETTING.sub(lambda found: found.group(1) + (url or '""'), text)
    if path.name == "pyproject.toml":
        return PACKAGE.sub(f'[project.urls]\nSource = "{url}"\n\n' if url else "", text, count=1)
    if path.suffix == ".ipynb":
        nb = json.loads(text)
        found = next(cell for cell in nb["cells"] if SET_UP_TAG in cell["metadata"].get("tags", []))
        found["source"] = set_up_cell(url).splitlines(keepends=True)
        return json.dumps(nb, ensure_ascii=False, indent=1, sort_keys=True) + "\n"  # as tools/form.py lays it out
    sentence = f"The course is published: [the book]({pages(url)}), [its repository]({url})." if url else NO_ADDRESS
    return SENTENCE.sub(lambda found: found.group(1) + sentence + found.group(2), text)


def _parts(url: str) -> tuple[str, str]:
    match = ADDRESS.match(url)
    if not match:
        raise ValueError(
            f"expected an address like https://github.com/you/fork, or none, got {url!r}: Colab opens only GitHub's"
        )
    return match.group(1), match.group(2).removesuffix(".git")


def main() -> int:
    if len(sys.argv) < 2:
        print(address() or "none")
        return 0
    try:
        changed = change("" if sys.argv[1] == "none" else sys.argv[1])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(f"changed {path.relative_to(ROOT)}" for path in changed) or "nothing to change")
    return 0


if __name__ == "__main__":
    sys.exit(main())
