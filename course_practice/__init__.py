"""Practice: exercises that check themselves, and questions that answer.

A notebook imports five words from here; `mine` gives back what you have solved:

>>> from course_practice import check, quiz, show_solution, warm_up
>>> check("masks.causal", lambda n: torch.ones(n, n).tril().bool())    # doctest: +SKIP
✓ masks.causal: passed, 5 of 5 cases.
"""

from course_practice.exercises import check, mine, show_solution
from course_practice.quizzes import quiz, warm_up

__all__ = ["check", "mine", "quiz", "show_solution", "warm_up"]
