"""Starting the daemon with the machine: a unit of the user's systemd, or an entry in the user's crontab."""
