"""The keeper program: guard -> keeper -> agent, a small process tree that outlives the daemon.

It exists so that neither a crash of the daemon nor one of its own parts loses a byte that the agent
said, delivers a prompt twice, or lets two agents of one session live at once. The daemon uses
`launch` to start and probe it, `client` (or its own code over `frames`) to talk to it.

Only the standard library may be used here, without asyncio and without threads: these processes
stay resident for as long as the agent lives. Nothing here knows any agent's dialect.
"""
