"""Jobs: unattended drives of one or more tasks to an end, with a retry budget. Pure."""
