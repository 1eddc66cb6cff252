from course_lib.bpe import merge
from course_practice.engine import Exercise, case
from course_practice.exercises.bpe._forms import as_line


def with_one_look_ahead(symbols, pair):
    merged, skip = [], False
    for i, symbol in enumerate(symbols):
        if skip:
            skip = False
        elif i + 1 < len(symbols) and (symbol, symbols[i + 1]) == pair:
            merged.append(symbol + symbols[i + 1])
            skip = True
        else:
            merged.append(symbol)
    return merged


EXERCISE = Exercise(
    reference=merge,
    call=as_line,
    cases=lambda: [
        case(("n", "e", "w", "e", "s", "t</w>"), ("e", "s"), about="one occurrence"),
        case(("l", "o", "w</w>"), ("e", "s"), about="no occurrence"),
        case(("b", "a", "n", "a", "n", "a</w>"), ("a", "n"), about="two occurrences"),
        case(("a", "a", "a"), ("a", "a"), about="three equal symbols"),
        case(("a", "a", "a", "a", "a", "b</w>"), ("a", "a"), about="five equal symbols"),
        case(("w", "id", "es", "t</w>"), ("es", "t</w>"), about="at the end"),
        case(("s", "e", "t</w>"), ("e", "s"), about="the two symbols in the other order"),
        case(("th", "e", "se</w>"), ("e", "s"), about="the second symbol only begins like the pair's"),
        case(("ca", "b", "a", "b</w>"), ("a", "b"), about="longer symbols with the same letters"),
        case(("x", "ab", "c", "a", "bc"), ("a", "bc"), about="the same letters, cut otherwise"),
        case(("a</w>",), ("a", "b"), about="a single symbol"),
    ],
    alternatives=(with_one_look_ahead,),
)
