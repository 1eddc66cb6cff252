"""Exercises of chapter 09, the encoder: one file each."""
