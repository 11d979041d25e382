"""What a vault's file is made of, and which of several copies of a record is put back. Pure."""
