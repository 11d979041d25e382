"""Claude Code: how to start it, what it says, and the record that it keeps."""
