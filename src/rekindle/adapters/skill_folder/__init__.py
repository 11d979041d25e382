"""Skill sessions as folders with a `.state.json`: read, changed under a lock, searched, scanned for artifacts."""
