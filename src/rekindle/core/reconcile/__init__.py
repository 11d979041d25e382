"""What the journal says against what git says: tasks, branches, worktrees. Tables, and nothing but tables."""
