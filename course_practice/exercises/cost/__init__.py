"""Exercises of chapter 19, the cost."""
