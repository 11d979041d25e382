"""Decisions of a fleet: how long an agent may live, what a drive does next, and which host may have which job."""
