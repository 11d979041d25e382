"""The four walks through the house: what a command passes on its way, traced in real processes.

`python -m tests.walks` takes them all and renews their tables in docs/architecture.md.
`python -m tests.walks --list NAME` takes one and prints all that it passes, to choose milestones from.
"""
