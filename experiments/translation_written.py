"""What does a machine of exercise solutions write after 200 updates, and after more?

    python -m experiments.translation_written

Every part of the Transformer that an exercise asks for is an answer of an exercise: another right solution than the
library's, where the exercise has one. The machine is trained as in chapter 17: simple sentences of the course corpus
(seed 0), the course's recipe, the plain loss. Each number of updates is a training of its own, since the learning rate
falls to 0 at its end. Kept are the translations of five simple sentences of the test split, and of 200 the share that
greedy search writes exactly, and their BLEU. About three minutes on one core.
"""

from course_lib.batching import Batches, encode_pairs
from course_lib.corpus import tagged
from course_lib.fast.memory import keep_freed_memory
from course_lib.reproducible import make_reproducible
from course_lib.training import plain_loss
from course_lib.training.trainer import Trainer
from course_practice.assembly.parts import OwnParts
from course_practice.assembly.trials import PARTS
from course_practice.assembly.wrong_parts import put_in
from experiments import store
from experiments.translation_own import judged
from experiments.translator import RECIPE, new_transformer, ready, settings

UPDATES, SENTENCES, SHOWN, LONGEST, SEED = [50, 200, 800], 200, 5, 20, 0


def run(updates: int, material: tuple) -> dict:
    """Train one machine of the parts that are in place, and let it write."""
    corpus, vocabulary, _ = material
    train, test = (tagged(corpus[split], "simple") for split in ("train", "test"))
    make_reproducible(SEED)
    model = new_transformer(vocabulary)
    batches = Batches(encode_pairs(train, vocabulary), RECIPE["max_tokens"], SEED)
    Trainer(model, batches, settings(updates, SEED), loss=plain_loss, quiet=True).run()
    texts, exact, bleu = judged(model, vocabulary, test[:SENTENCES], LONGEST)
    return {"updates": updates, "exact": exact, "bleu": bleu, "texts": texts[:SHOWN]}


def main() -> None:
    keep_freed_memory()
    material = ready(SEED)
    parts = OwnParts(())  # without the answers of whoever runs this
    answers = {part.name: parts.answer(part) for part in PARTS}
    places = {place: answers[part.name][0] for part in PARTS for place in part.used}
    shown = tagged(material[0]["test"], "simple")[:SHOWN]
    rows = []
    for updates in UPDATES:
        with put_in(places):
            rows.append(run(updates, material))
        print(rows[-1], flush=True)
    makers = {name: maker for name, (_, maker) in answers.items()}
    sentences = [{"source": pair.src_text, "reference": pair.tgt_text} for pair in shown]
    store(__file__, seeds=[SEED], made_by=makers, sentences=sentences, rows=rows)


if __name__ == "__main__":
    main()
