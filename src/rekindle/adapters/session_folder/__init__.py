"""The folder of a session: its layout, and the one reader of what was said in it. No other room knows either."""
