"""Runbooks: what an agent runs, and how rekindle reacts when it idles, dies, fails, stalls, asks or hits a limit."""
