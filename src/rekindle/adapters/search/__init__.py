"""Full-text search over all conversations: an index that can be thrown away at any time."""
