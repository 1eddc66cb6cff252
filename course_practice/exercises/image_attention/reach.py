from course_practice.engine import Exercise, case


def reach(kernels, dilations):
    """How many pixels to each side one output sees, for layers of odd kernel sizes.

    >>> reach([3, 3], [1, 1])
    2
    """
    return sum((kernel - 1) // 2 * dilation for kernel, dilation in zip(kernels, dilations, strict=True))


def from_the_width_of_the_field(kernels, dilations):
    field = 1
    for layer in range(len(kernels)):
        field += (kernels[layer] - 1) * dilations[layer]
    return field // 2


EXERCISE = Exercise(
    reference=reach,
    cases=lambda: [
        case([3], [1], about="one 3×3 layer"),
        case([3, 3, 3], [1, 1, 1], about="three 3×3 layers"),
        case([5], [1], about="one 5×5 layer"),
        case([1], [1], about="a 1×1 layer"),
        case([3], [4], about="one dilated layer"),
        case([3, 3, 3], [1, 2, 4], about="three dilated layers"),
        case([7, 1, 5, 3], [1, 1, 3, 2], about="different kernels and dilations"),
    ],
    alternatives=(from_the_width_of_the_field,),
)
