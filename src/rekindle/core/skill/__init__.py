"""Skill sessions: the phases of a workflow that an agent walks through, and how it finds its way back."""
