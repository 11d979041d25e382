"""What rekindle knows about each agent: how to start it, how it talks, how to resume it. Bytes in, observations out."""
