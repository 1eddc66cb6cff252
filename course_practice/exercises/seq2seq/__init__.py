"""Exercises of chapter 01, sequence to sequence: one file each."""
