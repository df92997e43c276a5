"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click


class Registered(click.ParamType):  # type: ignore[type-arg]
    """A name in the registry, which is read when the name is looked at."""

    def __init__(self, name: str, table: str) -> None:
        self.name, self.table = name, table

    def choices(self) -> list[str]:
        """Return the names there are."""
        from ddibp import registry

        return sorted(getattr(registry, self.table)())

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002
        """Return what help shows."""
        return f"[{'|'.join(self.choices())}]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name if it is known."""
        if value not in self.choices():
            self.fail(f"{value!r} is not one of {', '.join(self.choices())}.", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002
        """Return the names that begin like this."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in self.choices() if name.startswith(incomplete)]


class Names(click.ParamType):  # type: ignore[type-arg]
    """Names of columns, separated by commas."""

    name = "columns"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:  # noqa: ARG002
        """Return the names."""
        return value if isinstance(value, tuple) else tuple(name.strip() for name in value.split(",") if name.strip())


DECAY = click.option("--decay", type=Registered("decay", "decays"), help="Decay of distance.  [default: exponential]")
SEQUENTIAL = click.option(
    "--sequential/--symmetric",
    " /--no-sequential",
    default=None,
    help="Whether rows link to earlier rows only.  [default: symmetric]",
)
METRIC = click.option("--metric", help="euclidean, cityblock, haversine (latitude, longitude), ...")
CUTOFF = click.option("--cutoff", type=float, help="Decays at or below this count as 0; for many rows.")

OF_SOME_PRIORS = (
    click.option("--c0", type=float, help="Concentration of the dHBP's base measure."),
    click.option("--c1", type=float, help="Concentration of the dHBP's rows."),
    click.option(
        "--coupling",
        type=click.Choice(["customer", "dish"]),
        help="Whether a dHBP row or each of its features borrows.",
    ),
    click.option(
        "--permutation",
        type=click.Choice(["rows", "uniform"]),
        help="Whether AIBD rows arrive as they stand or in any order.",
    ),
    click.option(
        "--kernel",
        type=click.Choice(["rbf", "matern12", "matern32", "matern52", "rational quadratic"]),
        help="Covariance kernel of the dIBP.  [default: rbf]",
    ),
    click.option("--length-scale", type=float, help="Distance over which a dIBP row resembles others."),
    click.option("--variance", type=float, help="Variance of the dIBP's Gaussian processes."),
    click.option("--nugget", type=float, help="Variance that a dIBP row has to itself."),
)


def several(*names: str, help: str) -> Callable[[Any], Any]:
    """Return an option for names of columns: separated by commas, or given again."""
    return click.option(*names, type=Names(), multiple=True, metavar="COLUMN[,...]", callback=_joined, help=help)


def _joined(ctx: click.Context, param: click.Parameter, value: Sequence[tuple[str, ...]]) -> list[str]:  # noqa: ARG001
    return [name for names in value for name in names]


def stacked(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that adds options in the order given."""

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add
