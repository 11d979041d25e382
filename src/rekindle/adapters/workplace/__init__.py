"""Where an agent works: its folder, its environment, and how a lost folder is built again."""
