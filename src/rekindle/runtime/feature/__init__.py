"""A feature's run: what is due is found out again and again, and carried out."""
