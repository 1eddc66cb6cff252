"""Exercises of chapter 18, what the heads do."""
