"""The daemon as a client reaches it: through its socket, started if there is none."""
