"""What the HTTP door needs of this machine: its files, the answers that it keeps, and who is at the other end."""
