"""Exercises of chapter 04, multi-head attention: one file each."""
