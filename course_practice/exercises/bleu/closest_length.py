from course_lib.bleu import closest_length
from course_practice.engine import Exercise, case


def sorted_first(length, reference_lengths):
    return min(sorted(reference_lengths), key=lambda candidate: abs(candidate - length))


EXERCISE = Exercise(
    reference=closest_length,
    cases=lambda: [
        case(10, [13, 9, 12], about="three references"),
        case(10, [12, 8], about="a tie, the longer one first"),
        case(10, [8, 12], about="a tie, the shorter one first"),
        case(11, [6, 16], about="a tie, five apart"),
        case(4, [1, 6, 9], about="a short hypothesis"),
        case(9, [7], about="one reference"),
        case(10, [5, 16], about="five below, six above"),
        case(5, [9, 5, 4], about="an equal length"),
        case(20, [3, 15, 11], about="longer than all"),
        case(2, [8, 6, 7], about="shorter than all"),
        case(11, [14, 8, 12, 9], about="four references"),
    ],
    alternatives=(sorted_first,),
)
