"""Compares the journal with git: tasks, branches, worktrees. Tables, and nothing but tables."""
