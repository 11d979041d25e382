"""The hook client: one short process per tool call of an agent. Standard library only, because it must start fast."""
