"""The world: files, git, processes. Adapters implement ports and decide nothing."""
