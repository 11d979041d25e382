"""What is known of each agent: how it is started, how it speaks, how it comes back. Bytes in, observations out."""
