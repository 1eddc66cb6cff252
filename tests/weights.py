"""The weights of a real model, for the tests that need them: `make test` fetches them where there is a network."""

import os

import pytest

from course_lib.pretrained import WeightsMissing, weights_file

try:
    weights_file()
    MISSING = ""
except WeightsMissing as error:
    MISSING = str(error)

# In CI there is a network, and a test that is left out would be a test that nobody runs.
needed = pytest.mark.skipif(bool(MISSING) and not os.environ.get("CI"), reason=MISSING or "the weights are here")
