"""``ddibp impute``: the table of a run with its holes filled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ddibp.cli.tables import check_target, write_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ddibp.cli.runs import Run


@click.command()
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "--out", "-o", callback=check_target, default="-", metavar="PATH", help="File to write; - is CSV to stdout."
)
@click.option(
    "--draws", type=click.IntRange(min=1), metavar="N", help="Write N tables below each other, each a draw, numbered."
)
@click.option("--entries", is_flag=True, help="Write a line per missing entry, with standard deviation and interval.")
@click.option(
    "--interval",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    metavar="P",
    help="Probability of the intervals of --entries.",
)
def impute(run: Path, out: str, draws: int | None, entries: bool, interval: float) -> None:
    """Fill the missing entries of the table that RUN was made from.

    Missing entries become posterior means, with two decimals more than their column has. All other cells stay exactly
    as they stood. The suffix of --out chooses the format: .csv, .tsv, .parquet or .npz.

    \b
    Examples:
      ddibp impute run -o completed.csv
      ddibp impute run --entries -o entries.csv
      ddibp impute run --draws 20 -o imputations.csv
    """  # noqa: D301
    from ddibp.cli.runs import open_run

    if entries and draws is not None:
        raise click.UsageError("--entries and --draws are two different tables; choose one.")
    opened = open_run(run)
    missing = int(opened.posterior.missing.sum())
    if entries:
        columns = _entries(opened, interval)
    elif draws is not None:
        columns = _several(opened, draws)
    else:
        columns = _filled(opened, _means(opened))
    write_table(out, columns)
    click.echo(f"{missing} entries imputed" + ("" if out == "-" else f", in {out}"), err=True)


def _means(run: Run) -> NDArray[Any]:
    """Return posterior means in the units of the table; of logged columns, the mean of the exponentials."""
    import numpy as np

    where = np.nonzero(run.posterior.missing)[1]
    scaling = run.record.to_scaling()
    means = scaling.back(run.posterior.imputations().mean, where)
    logged = scaling.logged[where]
    if logged.any():
        means[logged] = scaling.back(run.posterior.imputation_draws(), where)[:, logged].mean(axis=0)
    return means


def _filled(run: Run, values: NDArray[Any]) -> dict[str, list[str]]:
    """Return the table with values in place of missing entries, which are in row-major order."""
    import numpy as np

    from ddibp.cli.cells import decimals, written

    columns = {name: list(cells) for name, cells in run.table.columns.items()}
    places = {name: decimals(run.table[name]) for name in run.record.columns}
    for row, column, value in zip(*np.nonzero(run.posterior.missing), values, strict=True):
        name = run.record.columns[column]
        columns[name][row] = written(value, places[name])
    return columns


def _several(run: Run, n: int) -> dict[str, list[str]]:
    import numpy as np

    chosen = run.posterior.imputation_draws(n)
    if n > len(chosen):
        raise ValueError(
            f"--draws must be at most {len(chosen)}, the number of draws that the run has stored, got {n}."
        )
    where = np.nonzero(run.posterior.missing)[1]
    tables = [_filled(run, run.record.to_scaling().back(values, where)) for values in chosen]
    label = "draw" if "draw" not in run.table.columns else "imputation_draw"
    number = {label: [str(i + 1) for i in range(n) for _ in range(len(run.table))]}
    return number | {name: [cell for table in tables for cell in table[name]] for name in run.table.columns}


def _entries(run: Run, probability: float) -> dict[str, list[str]]:
    import numpy as np

    from ddibp.cli.cells import decimals, written

    rows, where = np.nonzero(run.posterior.missing)
    draws = run.record.to_scaling().back(run.posterior.imputation_draws(), where)
    tail = (1.0 - probability) / 2.0
    low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0)
    figures = {"mean": _means(run), "sd": draws.std(axis=0, ddof=min(1, len(draws) - 1)), "low": low, "high": high}
    names = [run.record.columns[column] for column in where]
    places = {name: decimals(run.table[name]) for name in run.record.columns}
    labels = run.row_names()
    return {"row": [labels[row] for row in rows], "column": names} | {
        figure: [written(value, places[name]) for value, name in zip(values, names, strict=True)]
        for figure, values in figures.items()
    }
