"""Exercises of chapter 20, from 2017 to today."""
