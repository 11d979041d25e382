"""What waits for a person: the one shape of a question, and when people are told of it. Pure."""
