"""`rekindle completion`: the shell's script, made by click."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from rekindle.ports.errors import UsageError


@click.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash:  mkdir -p ~/.local/share/bash-completion/completions
           rekindle completion bash > ~/.local/share/bash-completion/completions/rekindle
    zsh:   rekindle completion zsh  > ~/.zfunc/_rekindle    (with fpath+=~/.zfunc before compinit)
    fish:  rekindle completion fish > ~/.config/fish/completions/rekindle.fish
    """
    found = get_completion_class(shell)
    if found is None:
        raise UsageError(f"there is no completion script for {shell}", "use bash, zsh or fish")
    print(found(click.get_current_context().find_root().command, {}, "rekindle", "_REKINDLE_COMPLETE").source())
