"""Exercises of chapter 21, real_model: one file each."""
