"""Exercises of chapter 00, what comes before the first chapter: one file each."""
