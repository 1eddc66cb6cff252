"""Exercises of chapter 12, byte-pair encoding."""
