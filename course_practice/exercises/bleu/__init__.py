"""Exercises of chapter 16, BLEU."""
