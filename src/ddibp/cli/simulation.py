"""What simulation and sharing have in common: a prior and rows in, a matrix out."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ddibp import __version__
from ddibp.cli.options import CUTOFF, DECAY, OF_SOME_PRIORS, SEQUENTIAL, Registered, several, stacked
from ddibp.cli.tables import Table, check_path, listed, read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _check_out(ctx: click.Context, param: click.Parameter, value: str) -> str:
    return check_path(ctx, param, value, (".csv", ".npz", ".png"))


SIMULATION = stacked(
    click.option("--prior", type=Registered("prior", "priors"), default="ddibp", show_default=True, help="Prior."),
    DECAY,
    click.option("--beta", type=float, help="Rate of the exponential, steepness of the logistic decay."),
    click.option("--nu", type=float, help="Width of the window, offset of the logistic decay."),
    click.option("--alpha", type=float, help="Mass of the IBP, dd-IBP, AIBD and dIBP.  [default: random, Gamma(1, 1)]"),
    click.option("--gamma", type=float, help="Mass of the dHBP.  [default: random, Gamma(1, 1)]"),
    *OF_SOME_PRIORS,
    SEQUENTIAL,
    click.option("--metric", help="euclidean, cityblock, haversine, ...; precomputed: the file holds distances."),
    CUTOFF,
    click.option("--rows", type=click.IntRange(min=1), metavar="N", help="Rows at times 0, 1, ..., N-1."),
    click.option(
        "--covariates",
        type=click.Path(allow_dash=True),
        metavar="FILE",
        help="CSV, TSV, Parquet or NPZ file with a row per row; - is stdin.",
    ),
    several("--covariate", help="Column of the file to take; numbers, or dates (as days)."),
    click.option(
        "--group",
        metavar="COLUMN",
        help="Column of labels; rows with different ones are infinitely apart (dIBP: independent).",
    ),
    click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed.  [default: a new one, reported]"),
    click.option(
        "--out", "-o", callback=_check_out, default="-", metavar="PATH", help="File to write; - is CSV to stdout."
    ),
)


def model_and_rows(options: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Return the prior, its covariates (or their proximity) and what is known of the rows by name."""
    from ddibp.cli.model import given_prior

    prior = given_prior(options)
    covariates, groups = _rows(options)
    if groups is None:
        return prior, covariates, {"covariates": covariates}
    with_groups = getattr(prior, "proximity", None) or getattr(prior, "field", None)
    if with_groups is None:
        raise ValueError(
            f"prior {options['prior']!r} knows no distances, so --group has no meaning for it; leave it out."
        )
    return prior, with_groups(covariates, groups=groups), {"covariates": covariates, "groups": groups}


def choose_seed(options: dict[str, Any]) -> int:
    """Return the seed that was given, or a new one."""
    return secrets.randbits(32) if options["seed"] is None else int(options["seed"])


def describe_settings(prior: Any, **settings: Any) -> str:
    """Return what the numbers came from, as JSON."""
    return json.dumps({"ddibp": __version__, "prior": repr(prior), **settings})


def _rows(options: dict[str, Any]) -> tuple[Any, Any]:
    """Return covariates and groups (or None)."""
    import numpy as np

    from ddibp.cli import cells

    file, names, group = options["covariates"], options["covariate"], options["group"]
    if (options["rows"] is None) == (file is None):
        raise click.UsageError("Say which rows: either --rows N (times 0 to N-1) or --covariates FILE.")
    if file is None:
        if names or group:
            raise click.UsageError("--covariate and --group name columns of a file; give it by --covariates FILE.")
        return np.arange(float(options["rows"])), None
    table = read_table(file)
    precomputed = options["metric"] == "precomputed"
    if group:
        table.require(group)
    values = cells.covariates(table, names or _only_names(table, group, every=precomputed), infinite=precomputed)
    labels = np.array(cells.labels(table, group)) if group else None
    return (values[:, 0] if values.shape[1] == 1 and not precomputed else values), labels


def _only_names(table: Table, group: str | None, *, every: bool) -> list[str]:
    """Return the columns to take where none is named: the only one, or all of a matrix of distances."""
    names = [name for name in table.names if name != group]
    if not names or (len(names) > 1 and not every):
        raise ValueError(f"{table.source} has columns {listed(table.names)}; choose with --covariate COLUMN.")
    return names


def write_result(out: str, prefix: str, table: Any, arrays: dict[str, Any], draw: Callable[[Axes], None]) -> None:
    """Write the table as CSV, the arrays as NPZ or a drawing as PNG, by the suffix of ``out``."""
    import numpy as np

    suffix = Path(out).suffix.lower()
    if suffix == ".npz":
        with open(out, "wb") as file:
            np.savez_compressed(file, **arrays)
    elif suffix == ".png":
        from matplotlib.figure import Figure

        figure = Figure(layout="constrained", dpi=150)
        draw(figure.add_subplot())
        figure.savefig(out, format="png")
    else:
        header = ",".join(f"{prefix}_{k}" for k in range(table.shape[1]))
        with click.open_file(out, "w", encoding="utf-8") as stream:
            stream.write(f"{header}\n")
            np.savetxt(stream, table, fmt="%s", delimiter=",")
            stream.flush()
