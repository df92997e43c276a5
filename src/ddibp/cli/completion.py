"""``ddibp completion``: completion of commands, options, names and files by the shell."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes a shell complete commands, options and files.

    \b
    Examples:
      ddibp completion bash >> ~/.bashrc
      ddibp completion zsh >> ~/.zshrc
      ddibp completion fish > ~/.config/fish/completions/ddibp.fish
    """  # noqa: D301
    ready = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }"
    lines = {
        "bash": 'eval "$(_DDIBP_COMPLETE=bash_source ddibp)"',
        "zsh": f'{ready}; eval "$(_DDIBP_COMPLETE=zsh_source ddibp)"',
        "fish": "_DDIBP_COMPLETE=fish_source ddibp | source",
    }
    click.echo(lines[shell])
