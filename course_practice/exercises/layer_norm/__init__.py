"""Exercises of chapter 08, layer normalization: one file each."""
