"""Exercises of chapter 06, attention over images: one file each."""
