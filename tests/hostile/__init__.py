"""Things from elsewhere that mean harm: repositories and archives, put before every command.

`stage.py` has the user's machine, the canary and what may not change; `commands.py` what the user types;
`repositories.py` and its neighbours build the hostile things, one function each; `test_corpus.py` puts all of it
together. To add one, write a function with the decorator `hostile` in a module that `test_corpus.py` imports.
"""
