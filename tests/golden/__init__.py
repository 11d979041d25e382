"""Samples of what real agents wrote, and tests on them."""
