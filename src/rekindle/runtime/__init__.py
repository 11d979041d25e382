"""The supervisor: facts in, effects out. Knows ports, never adapters."""
