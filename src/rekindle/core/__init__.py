"""Pure decisions. No I/O, no clock, no randomness: everything a function needs is passed in."""
