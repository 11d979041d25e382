"""One module per agent, each with its `KIND`. A new agent is a new module here: see docs/adding-an-agent.md."""
