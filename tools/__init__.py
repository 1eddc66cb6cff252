"""What `make` calls: running and storing notebooks, gates, the book, the test stages."""
