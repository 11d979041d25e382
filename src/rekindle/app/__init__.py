"""Use cases: what can be asked of rekindle, whichever door the question comes through."""
