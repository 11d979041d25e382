"""Agent processes through their keepers."""
