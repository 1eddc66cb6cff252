"""The contenders that are not of the course, each used as its own documentation shows.

They import their packages where they are made: whoever lacks one can still measure the others.
"""
