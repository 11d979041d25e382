"""The journal of a feature: what its lines mean, what state they fold to, and what a resume would do."""
