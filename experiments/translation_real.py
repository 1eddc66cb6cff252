"""What a translator of real sentences writes, and where it looks: five German sentences of our own.

    python -m experiments.translation_real

Trains on Multi30k what `python -m course_lib train --data multi30k --dropout 0` trains, for 900 updates, about as many
as five minutes on two idle cores allow. The captions are read from `MULTI30K_DIR`, or downloaded, and may not be passed
on, so the sentences are ours. They were written before the first training, and none of them is a caption of Multi30k.
Kept are their translations with a beam of 5, the mean attention of the last layer's heads from each word written to
each word read, and the BLEU of the test split. About ten minutes on one core.
"""

import json
import tempfile
from pathlib import Path

from course_lib.corpus.multi30k import multi30k
from course_lib.translation import Translator
from course_lib.translation.commands import train
from experiments import store

SEED, UPDATES, BEAM = 0, 900, 5
SENTENCES = [
    "Auf einer Bank sitzt ein alter Mann und liest eine Zeitung.",
    "Eine Frau, die einen roten Hut trägt, schneidet in der Küche Gemüse.",
    "Im Park wirft ein kleiner Junge seinem Hund einen Ball zu.",
    "Drei Kinder haben am Strand eine Burg aus Sand gebaut.",
    "Die Regierung hat gestern ein neues Gesetz beschlossen.",
]


def read(translator: Translator, source: str) -> dict:
    """A sentence, its translation, and the attention from each word of it to each word of the source."""
    (text,) = translator.translate([source], beam_size=BEAM)
    weights = translator.attention(source, text).mean(dim=0)
    return {"source": source, "text": text, "attention": [[round(w, 3) for w in row] for row in weights.tolist()]}


def main(updates: int = UPDATES) -> None:
    captions = {pair.src_text for pairs in multi30k().splits.values() for pair in pairs}
    if known := captions.intersection(SENTENCES):
        raise ValueError(f"expected sentences that are no captions of Multi30k, got {sorted(known)}: write others")
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        options = ["--data", "multi30k", "--dropout", "0", "--seed", str(SEED), "--steps", str(updates)]
        if train.main([*options, "--threads", "1", "--folder", folder, "--json", str(figures)]):
            raise SystemExit(1)
        found = json.loads(figures.read_text(encoding="utf-8"))
        sentences = [read(Translator.load(folder), source) for source in SENTENCES]
    kept = {name: found[name] for name in ("updates", "bleu", "bleu_signature")}
    store(__file__, seeds=[SEED], **kept, sentences=sentences)


if __name__ == "__main__":
    main()
