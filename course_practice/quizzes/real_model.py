"""Numbers of the questions on a real model."""

import math

floor = math.log(49152)
