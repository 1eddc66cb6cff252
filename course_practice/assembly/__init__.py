"""The reader's own parts in the machine of chapters 11 and 17, and what puts them in."""
