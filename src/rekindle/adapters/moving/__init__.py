"""Sessions as archives: written on one machine, put in place on another."""
