"""The web page in a real browser: real daemon, real scripted agents, Debian's Chromium."""
