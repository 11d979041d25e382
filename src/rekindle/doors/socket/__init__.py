"""The daemon's socket: one line of JSON in, one line of JSON out."""
