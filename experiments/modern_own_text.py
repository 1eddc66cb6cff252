"""What a small language model writes after some minutes on a text of ordinary size, one thread.

    python -m experiments.modern_own_text

The text is the course's own prose: the paragraphs of all chapters and of the book's other pages, without headings,
tables, formulas, and code. `course_lib.own_text` trains on it as it does on a reader's file. A minute is a minute of
processor time of one thread, so that another program on the machine takes no part. One seed.
"""

import re
import time
from pathlib import Path

import nbformat
import torch

from course_lib.own_text import train_writer
from course_lib.text import clean
from experiments import store

ROOT = Path(__file__).parents[1]
MINUTES = [1, 10]
BEGINNINGS = ["", "The model"]
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def prose() -> list[str]:
    """The paragraphs of the course that are plain sentences."""
    sources = []
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        sources += [cell.source for cell in cells if cell.cell_type == "markdown"]
    sources += [path.read_text(encoding="utf-8") for path in sorted((ROOT / "book").glob("*.md"))]
    found = []
    for block in re.split(r"\n\s*\n", "\n\n".join(sources)):
        text = clean(LINK.sub(r"\1", block).replace("*", "").replace("`", ""))
        if re.match("[A-Z]", text) and not set(text) & set("$<>|{}\\"):
            found.append(text)
    return found


def main() -> None:
    torch.set_num_threads(1)
    lines, rows = prose(), []
    about = {"characters": sum(map(len, lines)), "words": sum(len(line.split()) for line in lines)}
    print(about, flush=True)
    for minutes in MINUTES:
        writer = train_writer(lines, minutes, clock=time.process_time, say=lambda words: print(words, flush=True))
        samples = [writer.write(beginning) for beginning in BEGINNINGS]
        print(*samples, sep="\n---\n", flush=True)
        row = {"minutes": minutes, "updates": writer.updates, "samples": samples}
        row["loss"] = [round(loss, 3) for loss in writer.losses]
        rows.append(row)
        tokens = writer.tokenizer.vocab_size
        store(__file__, seeds=[0], **about, pieces=tokens, rows=rows)


if __name__ == "__main__":
    main()
