"""Exercises of chapter 21, a real model: one file each."""
