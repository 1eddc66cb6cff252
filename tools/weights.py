"""Where the weights of a real model are missing: what needs them is left out here, and fails in CI."""

import os

CHAPTERS = ("21_real_model",)


def missing() -> str:
    """Why what needs the weights is left out, in a sentence; "" where they are there, or where nothing may be left out.

    In CI there is a network, and what is left out there would be tested nowhere.
    """
    from course_lib.pretrained import WeightsMissing, weights_file  # loads PyTorch: only where a chapter needs them

    try:
        weights_file()
    except WeightsMissing as error:
        return "" if os.environ.get("CI") else str(error)
    return ""
