"""Exercises of chapter 03, self-attention: one file each."""
