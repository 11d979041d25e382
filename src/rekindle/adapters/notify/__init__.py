"""Telling people outside the terminal: a command, a signed webhook, ntfy, the desktop, Apprise."""
