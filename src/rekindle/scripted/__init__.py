"""The scripted agent: a real ACP agent that does what the prompt's script says, needs no account and no network.

Run it with `python -m rekindle.scripted`. It stands alone: nothing of rekindle is imported here, because to the rest of
the product it is a foreign program like any other agent.
"""
