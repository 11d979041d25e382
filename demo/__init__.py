"""What rekindle is for, shown in a scratch repository with real processes and a real SIGKILL."""
