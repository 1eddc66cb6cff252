"""Exercises of chapter 07, positional encoding."""
