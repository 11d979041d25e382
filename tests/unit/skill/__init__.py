"""Skill sessions: pure rules."""
