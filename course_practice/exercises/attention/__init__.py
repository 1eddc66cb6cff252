"""Exercises of chapter 02, attention: one file each."""
