"""Edits of steps: one left out or added, one name or method for another, in place and its opposite."""

import ast
from collections.abc import Iterator
from types import ModuleType

from course_practice.repair.kinds import To, kind
from course_practice.repair.places import Place, fill, keyword, located, name_of

# Names that are written for one another.
_ALIKE = (
    "softmax log_softmax sigmoid softmin exp",
    "sum mean prod max amax min amin logsumexp norm std var median numel",
    "any all max min sum",
    "tril triu",
    "zeros ones empty eye rand randn full",
    "zeros_like ones_like empty_like rand_like randn_like",
    "view reshape transpose permute",
    "transpose permute flip swapaxes",
    "T mT mH H",
    "stack cat concat hstack vstack",
    "chunk split tensor_split",
    "exp log sqrt square exp2 log1p expm1 rsqrt",
    "tanh sigmoid relu gelu sin cos softmax",
    "argmax argmin max min",
    "maximum minimum fmax fmin",
    "add sub mul div matmul mm bmm dot mv einsum",
    "squeeze unsqueeze flatten",
    "repeat expand tile repeat_interleave expand_as",
    "eq ne lt le gt ge",
    "equal not_equal less less_equal greater greater_equal",
    "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor",
    "float double half int long bool",
    "size shape",
    "ceil floor round trunc",
    "cumsum cumprod cummax",
    "append extend insert",
    "min max sum len any all abs",
    "range reversed enumerate list",
    "clone detach contiguous",
    "values indices",
    "masked_fill masked_fill_ masked_scatter where",
    "min tiny max eps",
    "keys values items",
    "zip product",
)
_OPPOSITES = ({"tril", "triu"}, {"any", "all"}, {"stack", "cat"}, {"chunk", "split"}, {"view", "reshape"})
_GROUPS: dict[str, list[str]] = {}
for _names in _ALIKE:
    for _name in _names.split():
        _GROUPS.setdefault(_name, []).extend(n for n in _names.split() if n != _name)

_REDUCTIONS = {"sum", "mean", "amax", "amin", "max", "min", "prod", "std", "var", "norm", "logsumexp", "any", "all"}
_MISSING = "is a step missing right after {it}?"


@kind("name", cost=2.0)
def names(place: Place) -> Iterator[To]:
    """One variable for another of the same kind; one attribute of `self` for another."""
    node, around = place.node, place.around
    above = place.around_it
    asks = "is {it} the one that is meant here?"
    if above is not node:
        asks = f"in {{it}}, is `{ast.unparse(node)}` the one that is meant?"
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | None):
        number = type(node.value) in (int, float)
        for name, seen in around.variables.items():
            if "." not in name and (seen is None or not number or seen.what == "number"):
                yield To(fill(name, node), "is {it} right for every input?", node, more=0.3)
    elif isinstance(node, ast.Name) and not _is_called(place) and not callable(around.scope.get(node.id)):
        here = place.kind()
        for name, seen in around.variables.items():
            alike = here is None or seen is None or seen.what == here.what or isinstance(place.parent, ast.Attribute)
            if name != node.id and alike:
                yield To(located(ast.Name(name, ast.Load()), node), asks, above)
    elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
        for name in around.variables:
            if name.startswith("self.") and name != f"self.{node.attr}":
                yield To(fill(name, node), asks, above)


def _is_called(place: Place) -> bool:
    return isinstance(place.parent, ast.Call) and place.field == "func"


@kind("method", cost=2.0)
def methods(place: Place) -> Iterator[To]:
    """One function or method for another; a method that works in place for one that does not, and the opposite."""
    node = place.node
    if isinstance(node, ast.Attribute):
        asks = "is {it} the right function here?" if _is_called(place) else "is {it} what is wanted here?"
        about = place.above.node if _is_called(place) and place.above is not None else node
        others = list(_GROUPS.get(node.attr.rstrip("_"), ()))
        for name in dict.fromkeys(others):
            more = -0.9 if {node.attr, name} in _OPPOSITES else 0.0 if len(others) < 8 else 0.2
            yield To(located(ast.Attribute(node.value, name, ast.Load()), node), asks, about, more)
    elif isinstance(node, ast.Name) and _is_called(place) and node.id not in place.around.variables:
        about = place.above.node if place.above is not None else node
        for name in _GROUPS.get(node.id, ()):
            yield To(located(ast.Name(name, ast.Load()), node), "is {it} the right function here?", about)


@kind("in-place", cost=1.0)
def in_place(place: Place) -> Iterator[To]:
    """Write into a tensor, or make a new one."""
    node = place.node
    if isinstance(node, ast.Attribute) and _is_called(place):
        name = node.attr[:-1] if node.attr.endswith("_") else f"{node.attr}_"
        more = 0.0 if node.attr.endswith("_") else 1.5
        about = place.above.node if place.above is not None else node
        asks = "does {it} write into a tensor that others still use?"
        if more:
            asks = "does {it} change anything, or only make something new?"
        yield To(located(ast.Attribute(node.value, name, ast.Load()), node), asks, about, more)
    elif isinstance(node, ast.Name) and place.may_be("tensor") and isinstance(place.parent, ast.Assign):
        yield To(fill("X.clone()", node, X=node), "{it}: is this a second tensor, or another name for the same one?")


@kind("turned", cost=1.2)
def turned(place: Place) -> Iterator[To]:
    """`.T`, `.mT` and transpositions for each other."""
    node = place.node
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "H", "mH"):
        base = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and name_of(node) in _TURNS:
        library = isinstance(node.func.value, ast.Name) and isinstance(
            place.around.scope.get(node.func.value.id), ModuleType
        )
        base = (node.args or [None])[0] if library else node.func.value
    else:
        return
    if base is None:
        return
    for form in ("X.mT", "X.T", "X.transpose(0, 1)", "X.transpose(1, 2)", "X.transpose(2, 3)", "X.transpose(1, 3)"):
        yield To(fill(form, node, X=base), "in {it}, which axes should change places?")


_TURNS = {"t", "transpose", "permute", "swapaxes", "swapdims", "movedim", "flip", "view", "reshape", "adjoint"}


@kind("too-much", cost=2.0)
def dropped(place: Place) -> Iterator[To]:
    """A step that is too much."""
    node = place.node
    asks = "is every step of {it} needed?"
    if isinstance(node, ast.Call):
        own = isinstance(node.func, ast.Attribute) and (
            place.kind(node.func.value) is not None or not isinstance(node.func.value, ast.Name)
        )
        if own:
            yield To(node.func.value, asks)
        for number, arg in enumerate(node.args):
            if isinstance(arg, ast.Starred):
                continue
            yield To(arg, asks, more=0.2 * number + 0.4 * own)
            if own or len(node.args) > 1:
                args = [*node.args[:number], *node.args[number + 1 :]]
                call = located(ast.Call(node.func, args, node.keywords), node)
                yield To(call, "are the arguments of {it} right?", more=0.1)
        for number in range(len(node.keywords)):
            words = [*node.keywords[:number], *node.keywords[number + 1 :]]
            yield To(located(ast.Call(node.func, node.args, words), node), "are the arguments of {it} right?")
    elif isinstance(node, ast.Attribute) and not _is_called(place) and place.kind(node.value) is not None:
        if place.kind(node.value).what != "other":
            yield To(node.value, asks)
    elif isinstance(node, ast.BinOp):
        yield To(node.left, asks)
        yield To(node.right, asks, more=0.2)
    elif isinstance(node, ast.BoolOp):
        yield from (To(value, asks) for value in node.values)
    elif isinstance(node, ast.Subscript):
        yield To(node.value, asks)
    elif isinstance(node, ast.IfExp):
        yield from (To(part, "does the condition in {it} choose rightly?") for part in (node.body, node.orelse))
        yield To(located(ast.IfExp(node.test, node.orelse, node.body), node), "does {it} choose rightly?", more=-0.5)
    elif isinstance(node, ast.Compare):
        yield To(node.left, asks)


@kind("argument", cost=2.0)
def arguments(place: Place) -> Iterator[To]:
    """An argument that is missing: the axis, `keepdim`, the diagonal."""
    node = place.node
    if not isinstance(node, ast.Call):
        return
    called, given = name_of(node), {word.arg for word in node.keywords}
    extra: list[tuple[str, str]] = []
    if called in ("max", "min") and not node.args and not given and isinstance(node.func, ast.Attribute):
        for axis in ("-1", "-2", "0"):
            rows = fill(f"X.a{called}(dim={axis}, keepdim=True)", node, X=node.func.value)
            yield To(rows, "over how many numbers does {it} go, and how many should it give?", more=-0.1)
    if called in _REDUCTIONS:
        extra += [("keepdim", "True")] * ("keepdim" not in given)
    if called in _REDUCTIONS | {"softmax", "log_softmax", "stack", "cat", "argmax", "squeeze", "flip", "chunk"}:
        extra += [("dim", axis) for axis in ("-1", "0", "1", "-2", "2")] * ("dim" not in given)
    if called in ("tril", "triu"):
        extra += [("diagonal", number) for number in ("1", "-1")] * ("diagonal" not in given)
    if called == "flatten":
        extra += [("start_dim", number) for number in ("1", "2", "-2", "3")] * (not node.args)
    if called == "meshgrid":
        extra += [("indexing", "'xy'"), ("indexing", "'ij'")] * ("indexing" not in given)
    about = {"dim": "along which axis does {it} go?", "keepdim": "how many axes has {it}, and how many are needed?"}
    for word, value in extra:
        words = [*node.keywords, keyword(word, fill(value, node))]
        asks = about.get(word, "are the arguments of {it} complete?")
        yield To(located(ast.Call(node.func, node.args, words), node), asks)
        if called in ("sum", "mean", "amax") and word == "dim" and "keepdim" not in given:
            words = [*words, keyword("keepdim", fill("True", node))]
            yield To(located(ast.Call(node.func, node.args, words), node), asks, more=0.5)


@kind("argument", cost=3.0)
def another_argument(place: Place) -> Iterator[To]:
    """A variable that is missing among the arguments."""
    node = place.node
    if isinstance(node, ast.Call) and len(node.args) <= 4:
        for name in place.around.variables:
            for spot in range(len(node.args) + 1):
                args = [*node.args[:spot], fill(name, node), *node.args[spot:]]
                yield To(located(ast.Call(node.func, args, node.keywords), node), "are the arguments of {it} complete?")


@kind("missing", cost=3.0)
def added(place: Place) -> Iterator[To]:
    """A step that is left out."""
    node = place.node
    if isinstance(node, ast.Constant | ast.Tuple | ast.Starred | ast.Slice) or _is_called(place) or place.is_asked:
        return
    if place.may_be("tensor"):
        for form in _tensor_steps(place.axes):
            yield To(fill(form, node, X=node), _MISSING, more=2.0 * (form == "X.T"))
        if not (place.kind() and place.kind().boolean):
            for form in _rare_steps(place.axes):
                yield To(fill(form, node, X=node), _MISSING, more=1.5)
    for name, seen in place.around.variables.items() if place.may_be("tensor") else ():
        if seen is not None and seen.what == "tensor" and not seen.boolean and name != getattr(node, "id", None):
            for op in "*/+-":
                yield To(fill(f"X {op} {name}", node, X=node), _MISSING, more=0.8)
    if place.may_be("number"):
        for form in ("int(X)", "1 / X"):
            yield To(fill(form, node, X=node), _MISSING)
        for name, seen in place.around.variables.items():
            if (seen is None or seen.what == "number") and name != getattr(node, "id", None) and "." not in name:
                asks = "is {it} the right number?"
                yield To(fill(f"X * {name}", node, X=node), asks, more=0.3)
                yield To(fill(f"X // {name}", node, X=node), asks, more=0.4)
    if place.may_be("several", "other"):
        for form in ("X[0]", "X[1]", "X[-1]", "list(X)", "torch.stack(X)", "torch.cat(X)", "torch.stack(X, dim=1)"):
            yield To(fill(form, node, X=node), "what exactly does {it} give: one result, or several?")
        for form in ("torch.tensor(X)", "torch.cat(X, dim=-1)", "torch.stack(X, dim=-1)", "any(X)", "all(X)", "sum(X)"):
            yield To(fill(form, node, X=node), _MISSING)


def _tensor_steps(axes: int | None) -> Iterator[str]:
    known = 4 if axes is None else axes
    if known >= 2:
        yield from ("X.mT", "X.transpose(0, 1)", "X.T")
    if known >= 3:
        yield "X.transpose(1, 2)"
    if known >= 4:
        yield from ("X.transpose(1, 3)", "X.transpose(0, 2)")
    yield from ("X[..., None]", "X[..., None, :]", "X[None]", "X[:, None]", "X[:, :, None]", "X[:, None, None]")
    yield from ("X.unsqueeze(1).unsqueeze(2)",) * (known <= 2)
    yield from ("X.squeeze(-1)", "X.squeeze(1)", "X[0]", "X.clone()", "X.bool()", "X.float()", "X.any()", "X.all()")
    yield from (f"X.flatten({axis})" for axis in range(known - 1))


def _rare_steps(axes: int | None) -> Iterator[str]:
    known = 4 if axes is None else axes
    yield from ("X.abs()", "X.exp()", "X.softmax(dim=-1)", "X.nan_to_num(0.0)", "X.log()", "X.tanh()", "X.int()")
    yield from ("X.max()", "X.sum()", "X.mean()", "X.sqrt()", "X.item()", "X.detach()", "bool(X)", "len(X)", "list(X)")
    for axis in range(-1, -1 - min(known, 3), -1):
        yield from (f"X.sum(dim={axis})", f"X.sum(dim={axis}, keepdim=True)", f"X.mean(dim={axis})")
        yield from (f"X.amax(dim={axis})", f"X.amax(dim={axis}, keepdim=True)")
    yield from (f"X.flatten(0, {axis})" for axis in range(1, known - 1))
