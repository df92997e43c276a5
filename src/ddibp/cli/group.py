"""The main command, and what becomes of errors: one line each, and an exit status that scripts can use.

0: done. 1: it failed although the input was fine (disk, memory, permissions). 2: bad input. 3: done, but the
diagnostics warn and ``--strict`` was given. 130: interrupted.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import click

from ddibp import __version__

FAILED, BAD_INPUT, DOUBTFUL, INTERRUPTED = 1, 2, 3, 130

GO_ON = "Go on with the same command and --resume."

# What messages for Python call by its argument, in the words of the shell.
_IN_THE_SHELL = {
    "Window(nu), or cutoff=1e-6 (decays below the cutoff count as 0; decay.reach(1e-6) tells the distance), "
    "or split the rows by groups=.": "--decay window, or --cutoff 1e-6 (decays below it count as 0), "
    "or split the rows by --group.",
    "give another folder as checkpoint": "name another folder by --out",
    "Run again with the same checkpoint to complete it.": GO_ON,
}


class BadInput(click.ClickException):
    """Something is wrong with what was asked for."""

    exit_code = BAD_INPUT


class _Main(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)  # in the order of use, not of the alphabet

    def invoke(self, ctx: click.Context) -> Any:
        if ctx.params["debug"]:
            return super().invoke(ctx)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn
                return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            click.echo(shortened(str(interruption)) or "Interrupted.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise
        except (ValueError, TypeError) as error:
            raise BadInput(shortened(str(error))) from None
        except ImportError as error:
            raise BadInput(str(error)) from None
        except MemoryError as error:
            raise click.ClickException(str(error) or "not enough memory.") from None
        except OSError as error:
            raise _of_the_system(error) from None


def _of_the_system(error: OSError) -> click.ClickException:
    if error.errno is None:  # raised by this package, about a path that was given
        return BadInput(shortened(str(error)))
    where = f"{shortened(str(error.filename))}: " if error.filename else ""
    remedies = getattr(error, "__notes__", [])
    return click.ClickException(" ".join([f"{where}{error.strerror}.", *remedies]))


def shortened(message: str) -> str:
    """Return a message in one line, with paths and arguments as the user would type them."""
    line = " ".join(message.split()).replace(f"{Path.cwd()}/", "")
    for python, shell in _IN_THE_SHELL.items():
        line = line.replace(python, shell)
    return re.sub(r"The same call goes on from .*\.$", GO_ON, line)


def _warn(message: Any, *_: Any, **__: Any) -> None:
    click.echo(f"Warning: {shortened(str(message))}", err=True)


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ddibp", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error instead of one line.")
def main(debug: bool) -> None:
    """Infinite latent feature models for tables whose rows have a time, a place or any distance.

    \b
    Examples:
      ddibp demo                                              try it, in less than two minutes
      ddibp fit data.csv --covariate age --out run            find features
      ddibp impute run -o completed.csv                       fill the holes
      ddibp report run -o report.html                         look at it
      ddibp COMMAND --help                                    more about each
    """  # noqa: D301
