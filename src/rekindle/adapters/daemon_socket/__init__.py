"""How a client reaches the daemon: through its socket, starting it if there is none."""
