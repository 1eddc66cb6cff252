"""Exercises of chapter 17, putting it all together."""
