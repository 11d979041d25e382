"""Auggie."""
