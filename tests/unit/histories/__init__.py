"""Histories of workflows as a real server recorded them. Never remake one: it proves that jobs of that day still go on.

python -m tests.unit.histories.recording NAME      # new ones, after a change of the workflows that was meant
"""
