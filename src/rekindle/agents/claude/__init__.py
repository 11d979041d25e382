"""Claude Code: how it is started, what it says, and the record that it keeps."""
