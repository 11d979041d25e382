"""A session: one conversation with one agent, over all its restarts. States, what to do next, and how it is told."""
