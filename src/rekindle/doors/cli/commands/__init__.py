"""One module per command (or small family of commands). Each is imported only when it is called."""
