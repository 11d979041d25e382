"""A feature that gets finished: its plan, the progress of each task, and what to do next. Pure."""
