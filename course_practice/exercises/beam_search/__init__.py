"""Exercises of chapter 15, beam search."""
