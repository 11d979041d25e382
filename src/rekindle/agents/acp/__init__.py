"""The client's side of ACP (Agent Client Protocol: JSON-RPC, one message per line, over stdio).

The SDK's connection cannot rejoin a living agent, because its ids and open requests live in memory; here both are
derived from the two spools of a keeper. The SDK's pydantic models are slow to import, so only the tests use them,
to prove that what we send conforms; at run time messages are plain dicts and msgspec structs.
"""
