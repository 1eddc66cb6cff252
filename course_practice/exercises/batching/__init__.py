"""Exercises of chapter 13, batching: one file each."""
