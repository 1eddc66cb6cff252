"""Say in plain words what an exception means to someone who wrote ten lines of tensor code."""

import re

from course_practice.engine.run import MEMORY_LIMIT, is_out_of_memory
from course_practice.engine.values import safe_text

# An expression that an error's words hold, and what to say.
_EXPLANATIONS = {
    r"name '(\w+)' is not defined": "The name `{0}` means nothing here: a typing mistake, or a missing import?",
    r"mat1 and mat2 shapes cannot be multiplied \((.+?) and (.+?)\)": (
        "A matrix product needs the left's last axis to equal the right's second-to-last; here {0} meets {1}."
    ),
    r"[Ee]xpected size for first two dimensions of batch2 tensor to be: (\[.+?\]) but got: (\[.+?\])": (
        "A batched matrix product needs equal batches and inner axes; expected {0}, got {1}. Is a transpose missing, "
        "or should the two factors change places?"
    ),
    r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)": (
        "The sizes {0} and {1} on axis {2} do not fit: they must be equal, or one of them 1. Print both shapes."
    ),
    r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at .* (\d+)\.": (
        "On axis {2}, {1} numbers cannot fill {0} places: they must be as many, or one. Print both shapes."
    ),
    r"view size is not compatible": (
        "After a transpose the numbers no longer lie in order in memory, so `view` cannot regroup them: use `reshape`."
    ),
    r"shape '(.+?)' is invalid for input of size (\d+)": "{1} numbers cannot be arranged as {0}: multiply it out.",
    r"cannot reshape array of size (\d+) into shape (\(.*\))": (
        "{0} numbers cannot be arranged as {1}: multiply it out. (NumPy leaves out a -1, or calls it newaxis.)"
    ),
    r"inhomogeneous shape|expected sequence of length \d+ at dim": (
        "Lists of different lengths make no table: pad them, or take each list by itself."
    ),
    r"Kernel size can't be greater than actual": "The kernel is larger than the image: is the padding missing?",
    r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+)": (
        "Tensors that are joined along axis {0} must have the same size on all other axes; here {1} meets {2}."
    ),
    r"expected Tensor as element (\d+) in argument 0, but got (\w+)": (
        "`cat` and `stack` join tensors, and item {0} is of type {1}: make it a tensor first."
    ),
    r"only one element tensors can be converted|Tensor with \d+ elements cannot be converted to Scalar": (
        "One number is wanted, and here comes a tensor of several. (`torch.tensor` takes numbers; `torch.stack` makes "
        "one tensor of a list of them.)"
    ),
    r"output with shape (\[.*?\]) doesn't match the broadcast shape (\[.*?\])": (
        "What is written into a tensor, as by `+=`, must have its shape, {0}, and this has {1}. Print the shapes "
        "of both sides."
    ),
    r"indexing tensors could not be broadcast together with shapes (.+)": (
        "Index tensors must broadcast to one shape, and these have the shapes {0}: shapes line up from the right, and "
        "`[:, None]` makes a column."
    ),
    r"Index tensor must have the same number of dimensions as (?:input|self) tensor": (
        "`gather` wants an index with as many axes as the tensor it reads: print both shapes. `[..., None]` adds one "
        "at the end."
    ),
    r"^(\w+)\(\): Expected reduction dim to be specified for input.numel\(\) == 0": (
        "`{0}` has nothing to look at: the tensor is empty, so a slice has kept nothing. Print its shape."
    ),
    r"Dimension out of range": "That axis does not exist here: print the shape, and count from the end with -1, -2.",
    r"unsupported operand type\(s\) for -: 'list' and 'list'": (
        "A list cannot be subtracted from a list: make tensors of them, or subtract item by item."
    ),
    r"(bitwise_not|~ \(operator\.invert\)|\"bitwise_and|unsupported operand type\(s\) for &(?!.*NoneType))": (
        "`~` and `&` work on booleans: make the mask boolean first, with a comparison or `.bool()`."
    ),
    r"masked_fill_? only supports bool": "`masked_fill` wants a boolean mask: make one with a comparison or `.bool()`.",
    r"without overflow": "That constant is too large for half precision: use `float('-inf')` or `torch.finfo(dtype)`.",
    r"not implemented for '(\w+)'": "PyTorch cannot do that with type {0}: convert first, as with `.float()`.",
    r"slice indices must be integers": "The bounds of a slice must be whole numbers: print what stands there.",
    r"^(zeros|ones|empty|full|rand|randn|reshape|view|expand|repeat)\(\) takes 1 positional argument but": (
        "`{0}` wants whole numbers, and one of these is none: a tensor, a shape, or a fraction? (`/` always gives one, "
        "`//` does not.)"
    ),
    r"(?s)Error\(s\) in loading state_dict.*?Missing key\(s\) in state_dict: (.+?)\. *(?:\n|$)": (
        "`load_state_dict` does not find {0}: print the names that it is given."
    ),
    r"(?s)Error\(s\) in loading state_dict.*?Unexpected key\(s\) in state_dict: (.+?)\. *(?:\n|$)": (
        "`load_state_dict` is given {0}, and the model has nothing of that name."
    ),
    r"(?s)Error\(s\) in loading state_dict.*?size mismatch for ([\w.]+): .*?\[(.*?)\].*?\[(.*?)\]": (
        "`load_state_dict` is given ({1}) for `{0}`, and the model has ({2}) there."
    ),
    r"(\w+(?:\.\w+)?)\(\) missing \d+ required positional arguments?: (.+)": (
        "`{0}` was called with too few arguments, without {1}."
    ),
    r"missing (\d+) required positional argument": "A function was called with too few arguments.",
    r"takes (.+?) positional arguments? but (\d+) (?:was|were) given": "It takes {0} arguments but {1} were given.",
    r"unexpected keyword argument '(\w+)'": "There is no parameter named `{0}`.",
    r"'NoneType' object has no attribute '(\w+)'": (
        "Something is None where a tensor was expected: is a `return` missing?"
    ),
    r"Tensors must have same number of dimensions: got (\d+) and (\d+)": (
        "Tensors with {0} and {1} axes cannot be joined: print both shapes. `[:, None]` adds an axis, `.flatten()` "
        "leaves one."
    ),
    r"'NoneType' object is not iterable": (
        "Something is None where a list was expected: a missing `return`, or a method such as `sort`, `shuffle`, or "
        "`append`, which changes its list and returns nothing?"
    ),
    r"operand type.*NoneType|not NoneType|'NoneType'(?: object is not|.*has no len)|got \(.*\bNoneType\b.*\)": (
        "Something is None where a value was expected: an argument that may be left out, or a missing `return`?"
    ),
    r"'(\w+)' object is not callable": (
        "Something of type {0} is called like a function: has a variable taken a function's name, are there "
        "parentheses too many, or is an operator such as `@` missing before them?"
    ),
    r"cannot assign '(torch\.\w+)' as parameter '(\w+)'": (
        "`{1}` takes a parameter, and here comes a plain tensor, as `.T`, `.data`, or `.clone()` gives it: assign the "
        "parameter itself."
    ),
    r"cannot assign '([\w.]+)' as parameter '(\w+)'": (
        "`{1}` takes a parameter, and here comes something of type {0}: if that is a module, its parameter is `.{1}`."
    ),
    r"generator didn't stop": (
        "A context manager yields once, and here `yield` is reached a second time. Does it stand in a loop? Put it "
        "behind the loop."
    ),
    r"generator didn't yield": (
        "A context manager yields once, and here no `yield` is reached. Write it where the block is to run, outside "
        "of every loop and `if`."
    ),
    r"'(\w+)' object is not an iterator": (
        "An iterator is wanted, and here comes something of type {0}: under `@contextmanager`, `yield` is missing; "
        "elsewhere, `iter(…)` makes an iterator."
    ),
    r"unhashable type: 'list'": (
        "A list can be neither counted nor a key, because it may change: make a tuple of it. Or is this a list of "
        "lists where a list was expected?"
    ),
    r"object has no attribute '(\w+)'": (
        "There is no `{0}` on that object: a typing mistake, or another type than you think?"
    ),
    r"expected .* (?:to have the same dtype|scalar type)": "Two tensors of different dtypes meet: convert one of them.",
    r"Boolean value of Tensor with more than one value is ambiguous": (
        "A tensor of many booleans is neither true nor false: `if`, `and`, `or`, and `not` want one. `&`, `|`, and `~` "
        "work on each of them, `.any()` and `.all()` make one of many. Around `&` and `|`, each comparison needs "
        "parentheses: `a <= b & c <= d` compares `b & c`."
    ),
    r"(too many|not enough) values to unpack \(expected (?:at least )?(\d+)": (
        "{0} values for the {1} names on the left: print what stands on the right. If it is a tensor, it comes apart "
        "along its first axis: print its shape."
    ),
    (
        r"'float' object cannot be interpreted as an integer|by non-int of type 'float'"
        r"|must be (?:int|tuple of ints), (?:not|but found element of type) float|but got float|indices \(got float\)"
    ): "A whole number is wanted, and here comes a fraction: `/` always gives one, `//` does not.",
    r"maximum recursion depth": "The function calls itself without end.",
    r"(list|tuple|string) (?:assignment )?index out of range": (
        "The {0} has no item with that number, because it ends before: print its length, and the number. If it becomes "
        "shorter while you walk, use `while`."
    ),
    r"selected index k out of range": (
        "`topk` is asked for more numbers than there are on its axis: print the shape of what it is given."
    ),
    r"(?:index|target) .*out of (?:range|bounds)": (
        "An index points past its axis: print it, and the shape of what it reads. Does it stand at the place of the "
        "axis that it is meant for?"
    ),
}


def explain(error: BaseException, words: str | None = None) -> str:
    """One plain sentence about an exception, or nothing where its own words are the best there are."""
    if is_out_of_memory(error):
        return (
            f"It wants more than {MEMORY_LIMIT // 2**30} GiB of memory, and the inputs are small: print the shapes, "
            "and look for a loop in which something grows and grows."
        )
    words = safe_text(str, error) if words is None else words
    if isinstance(error, KeyboardInterrupt):
        return "It was stopped before it had an answer. Is there a loop that never ends?"
    if isinstance(error, SystemExit):
        return f"It asks Python to end ({words or 'without a word'}): a function ends with `return`."
    for expression, sentence in _EXPLANATIONS.items():
        if found := re.search(expression, words):
            said = sentence.format(*found.groups())
            return said[0].upper() + said[1:]
    return ""
