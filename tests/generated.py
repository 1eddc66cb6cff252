"""Course corpora, each made once; with a `hash_seed` in another process, where the order of sets is another."""

import os
import pickle
import subprocess
import sys
from functools import cache

from course_lib.corpus import Corpus, course_corpus


@cache
def course(seed: int = 0, n_train: int = 20_000, hash_seed: int | None = None) -> Corpus:
    if hash_seed is None:
        return course_corpus(seed, n_train)
    program = (
        "import pickle, sys; from course_lib.corpus import course_corpus;"
        f"corpus = course_corpus({seed}, n_train={n_train});"
        "sys.stdout.buffer.write(pickle.dumps(corpus))"
    )
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed)}
    finished = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, check=True)
    return pickle.loads(finished.stdout)
