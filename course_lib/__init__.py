"""The library of the course: one module per subject, imports only point down (see CONTRIBUTING.md)."""

__version__ = "0.1.0"
