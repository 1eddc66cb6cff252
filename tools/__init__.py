"""What `make` calls: running and storing notebooks, gates, the book, the test stages."""

import sys

# nbformat imports jsonschema, which would build 38 grammars of web addresses (three seconds); notebooks need none.
NO_GRAMMAR = "rfc3987_syntax"
sys.modules.setdefault(NO_GRAMMAR, None)
