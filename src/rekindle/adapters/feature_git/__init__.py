"""Git for a feature's run: evidence, branches and worktrees of tasks, merges in a worktree of our own."""
