"""This machine: its processes, the agents' programs on it, commands that are run on it."""
