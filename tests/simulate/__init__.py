"""The simulator: real decisions, fake edges, virtual time. One seed is one story. See docs/simulation.md."""
