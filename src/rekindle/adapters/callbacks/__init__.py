"""What an agent may ask of its client: files and terminals, confined to its folder."""
