"""What spans sessions: the breaker for restarts, the spending cap, and the queue of those that wait for one limit."""
