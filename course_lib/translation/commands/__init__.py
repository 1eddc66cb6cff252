"""What `python -m course_lib` does: one module a command, and the options they share."""
