"""rekindle runs coding agents so that an interruption loses no work, repeats none, and is never papered over."""

__version__ = "0.1.0.dev0"
