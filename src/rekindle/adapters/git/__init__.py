"""Git on this machine: how it is called, what a repository may not make it do, and its files that we read ourselves."""
