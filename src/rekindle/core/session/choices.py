"""What can be chosen for a session, by name. A module of its own, because every command line imports it."""

POLICIES = ("ask", "continue", "never")
PERMISSIONS = ("edits", "ask", "deny", "all")
SWITCH = ("off", "on")
