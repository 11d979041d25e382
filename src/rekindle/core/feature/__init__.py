"""A feature that finishes: its plan, how far each task has come, and what is due next. Pure."""
