"""The vault: frames, copies, the pre-flight, following, retention."""
