"""What all agents share: the shape of a kind, a dialect and a record, and the tools to read their output."""
