"""Use cases: what can be asked of rekindle, whichever door the request comes through."""
