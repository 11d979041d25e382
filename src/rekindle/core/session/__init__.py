"""A session: one conversation with one agent, across all its restarts. States, what to do next, and how to show it."""
