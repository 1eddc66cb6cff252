"""The weights of a real model, for the tests that need them: `make test` fetches them where there is a network."""

import pytest

from tools.weights import missing

needed = pytest.mark.skipif(bool(missing()), reason=missing() or "the weights are here")
