"""The engine of a fleet on Temporal (extra `fleet`): workflows, the drive activity, and how any host asks for them.

The SDK is imported here only, and only when a fleet with an engine is used.
"""
