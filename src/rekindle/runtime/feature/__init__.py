"""A feature's run: repeatedly works out what is due, and does it."""
