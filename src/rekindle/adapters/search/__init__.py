"""Full-text search over all conversations: an index that can be deleted at any time."""
