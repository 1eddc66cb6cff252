"""The public address: `python -m tools.address [https://github.com/you/fork]` shows it, or changes it everywhere.

It is one setting, `repository.url` in _config.yml. The set-up cells, the links to the repository, to Colab and to the
published pages follow; tests hold them together.
"""

import re
import sys
from pathlib import Path

from tools.environment import ROOT

ADDRESS = re.compile(r"^https://github\.com/([A-Za-z0-9-]+)/([A-Za-z0-9._-]*[A-Za-z0-9_-])$")
SETTING = re.compile(r"^(repository:\n(?:[ \t]+.*\n|\n)*?[ \t]+url:[ \t]*)(\S+)", re.MULTILINE)
# Where the address may stand. Tests look that it stands nowhere else.
PLACES = ("*.md", "_config.yml", "pyproject.toml", "chapters/*.ipynb", "book/**/*.md", ".github/**/*.yml")


def address(root: Path = ROOT) -> str:
    """The address that _config.yml states."""
    found = SETTING.search((root / "_config.yml").read_text(encoding="utf-8"))
    if not found:
        raise ValueError("expected `repository: url:` in _config.yml, got none: add it")
    return found.group(2)


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
    """Write the new address wherever the old one stands; return the files that changed."""
    old, changed = address(root), []
    pairs = [("/".join(_parts(old)), "/".join(_parts(url))), (pages(old), pages(url))]
    pairs = [(re.compile(re.escape(before) + r"(?![\w-])"), after) for before, after in pairs]
    for path in places(root):
        text = path.read_text(encoding="utf-8")
        new = text
        for before, after in pairs:
            new = before.sub(after, new)
        if new != text:
            path.write_text(new, encoding="utf-8", newline="\n")
            changed.append(path)
    return changed


def _parts(url: str) -> tuple[str, str]:
    match = ADDRESS.match(url)
    if not match:
        raise ValueError(
            f"expected an address like https://github.com/you/fork, got {url!r}: Colab opens only GitHub's"
        )
    return match.group(1), match.group(2).removesuffix(".git")


def main() -> int:
    if len(sys.argv) < 2:
        print(address())
        return 0
    try:
        changed = change(sys.argv[1])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(f"changed {path.relative_to(ROOT)}" for path in changed) or "nothing to change")
    return 0


if __name__ == "__main__":
    sys.exit(main())
