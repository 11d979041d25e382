"""The folder of a session. Nobody else knows its layout."""
