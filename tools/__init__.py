"""What `make` calls: running and storing notebooks, gates, the book, the test stages."""

import sys

# jsonschema, which checks notebooks, builds a grammar at its import where this module is installed: 2.6 seconds, for
# addresses in other alphabets, which no notebook holds.
NO_GRAMMAR = "rfc3987_syntax"
sys.modules.setdefault(NO_GRAMMAR, None)
