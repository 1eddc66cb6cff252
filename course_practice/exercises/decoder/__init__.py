"""Exercises of chapter 10, the decoder."""
