"""What the core needs of the world, as interfaces, and the one tree of errors."""
