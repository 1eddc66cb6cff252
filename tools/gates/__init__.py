"""The gates: pure functions from a file (or a built book) to a list of complaints, each a plain sentence.

A chapter, the library and the book are in order when every gate returns an empty list. tests/test_notebooks.py,
tests/test_house.py and tests/test_book.py call them on the real thing; tests/test_gates.py proves of each that it
closes: a broken example is refused, the whole one passes.
"""
