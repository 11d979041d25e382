"""What the daemon offers to its clients: one line of JSON in, one line of JSON out, over a unix socket."""
