"""What the core needs from the outside world, as interfaces, and the one tree of errors."""
