"""Upgrades: what earlier versions have left is kept here, and every later one opens, folds and resumes it.

An *edition* is all that one version of rekindle leaves on a user's machine: a store, the sessions' folders with spools,
exit records and vaults, a repository with a feature's journal, and the archive of a session. It is made once, by the
real commands (`python -m tests.upgrades NAME`), and never changed again.
"""
