"""The daemon over HTTP: the same use cases as the command line has, for the page and for programs."""
