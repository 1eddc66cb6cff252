"""The quiz engine: it knows questions as data, and no question in particular."""

from course_practice.quizzes.engine.model import Option, Question
from course_practice.quizzes.engine.page import Quiz
from course_practice.quizzes.engine.text import read

__all__ = ["Option", "Question", "Quiz", "read"]
