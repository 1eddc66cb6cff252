"""Exercises of chapter 14, training: one file each."""
