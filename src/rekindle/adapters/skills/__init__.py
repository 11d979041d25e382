"""Skills on this machine: what their files declare, and whether a proof is what they ask for."""
