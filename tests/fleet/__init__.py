"""Hosts that share a store: real daemons, real agents, a real PostgreSQL."""
