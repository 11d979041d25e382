"""The vault: per session, append-only and checksummed copies of what was said, and of the agent's own record."""
