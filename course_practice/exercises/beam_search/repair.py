from course_lib.tokens import EOS
from course_practice.engine import Exercise, case
from course_practice.exercises.beam_search._tables import Table, fresh


def small_beam_search(log_probs, k, max_len, alpha):
    """Beam search for one sentence: (tokens without EOS, log-probability) of the finished one with the best score."""
    beams, pool = [([], 0.0)], []
    for _step in range(max_len):
        found = [
            ([*tokens, token], total + gain)
            for tokens, total in beams
            for token, gain in enumerate(log_probs(tokens).tolist())
        ]
        found.sort(key=lambda f: f[1], reverse=True)
        pool += [f for f in found[:k] if f[0][-1] == EOS]
        beams = [f for f in found if f[0][-1] != EOS][:k]
    tokens, total = max(pool, key=lambda f: f[1] / len(f[0]) ** alpha)
    return tokens[:-1], total


def small_beam_search_starter(log_probs, k, max_len, alpha):
    beams, pool = [([], 0.0)] * k, []
    for _step in range(max_len):
        found = [
            ([*tokens, token], total + gain)
            for tokens, total in beams
            for token, gain in enumerate(log_probs(tokens).tolist())
        ]
        found.sort(key=lambda f: f[1], reverse=True)
        pool += [f for f in found[:k] if f[0][-1] == EOS]
        beams = found[:k]
        if len(pool) >= k:
            break
    tokens, total = max(pool, key=lambda f: f[1] / max_len**alpha)
    return tokens[:-1], total


def with_a_loop(log_probs, k, max_len, alpha):
    beams, pool = [([], 0.0)], []
    while max_len:
        found = []
        for tokens, total in beams:
            for token, gain in enumerate(log_probs(tokens)):
                found.append(([*tokens, token], total + float(gain)))
        beams = []
        for rank, (tokens, total) in enumerate(sorted(found, key=lambda f: -f[1])):
            if tokens[-1] == EOS:
                if rank < k:
                    pool.append((total / len(tokens) ** alpha, tokens[:-1], total))
            elif len(beams) < k:
                beams.append((tokens, total))
        max_len -= 1
    return max(pool)[1:]


EXERCISE = Exercise(
    reference=small_beam_search,
    starter=small_beam_search_starter,
    call=fresh,
    cases=lambda: [
        case(Table(63, end=-1.0), 2, 7, 0.0, about="width 2, α = 0"),
        case(Table(68, vocab_size=8), 3, 8, 1.0, about="width 3, α = 1"),
        case(Table(78, end=0.5), 3, 8, 1.0, about="width 3, α = 1"),
        case(Table(123), 2, 8, 1.0, about="width 2, α = 1"),
        case(Table(117), 3, 8, 1.0, about="width 3, α = 1"),
        *(case(Table(seed, end=1.0), k, 7, 0.0, about=f"width {k}, α = 0") for seed in (1, 3, 6) for k in (2, 3)),
        *(case(Table(seed, vocab_size=7, end=0.5), 4, 9, 1.0, about="width 4, α = 1") for seed in range(40, 44)),
        *(case(Table(seed, end=1.0), 3, 8, 0.6, about="width 3, α = 0.6") for seed in range(50, 54)),
        case(Table(9, end=2.0), 1, 8, 0.0, about="width 1"),
        case(Table(200, end=0.5), 1, 8, 0.0, about="an end that width 1 leaves out"),
        case(Table(214, end=0.5), 2, 8, 1.0, about="an end that width 2 leaves out"),
        case(Table(218, end=0.5), 2, 8, 1.0, about="a good sentence that ends late"),
    ],
    alternatives=(with_a_loop,),
)
