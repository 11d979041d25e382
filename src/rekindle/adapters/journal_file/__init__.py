"""The journal as a file: JSONL, appended under a lock, repaired by the next writer, read from either end."""
