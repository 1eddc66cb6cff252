"""Exercises of chapter 05, masks: one file each."""
