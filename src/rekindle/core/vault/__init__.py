"""What a vault's file consists of, and which of several copies of a record to restore. Pure."""
