"""How a kind of edit is written down: a generator over one place, with the question that it asks."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from course_practice.repair.places import Edit, Place


class To(NamedTuple):
    """What to put in a place, the question to ask (`{it}` is the piece it is about), that piece, and more cost."""

    new: ast.expr
    asks: str
    about: ast.AST | None = None
    more: float = 0.0


@dataclass(frozen=True)
class Kind:
    """A kind of edit: `propose` gives for one place what may stand there instead. Cheap kinds are tried first."""

    name: str
    cost: float
    propose: Callable[[Place], Iterator[To]]

    def edits(self, place: Place) -> Iterator[Edit]:
        """The edits of this kind at a place."""
        for to in self.propose(place):
            yield Edit(
                kind=self.name,
                asks=to.asks,
                about=to.about or place.node,
                part=place.part,
                line=place.line,
                slots=((place.parent, place.field, place.index, to.new),),
                cost=self.cost + to.more + 0.01 * min(place.size, 30),
                before=place.node,
                after=to.new,
                statement=place.statement,
            )


def kind(name: str, cost: float) -> Callable[[Callable[[Place], Iterator[To]]], Kind]:
    """Make a generator a kind of edit."""
    return lambda propose: Kind(name, cost, propose)
