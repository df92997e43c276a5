"""``ddibp transform``: the features of new rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ddibp.cli.tables import check_target, write_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ddibp.cli.runs import Record, Run
    from ddibp.cli.tables import Table


@click.command()
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.argument("data", metavar="[TABLE]", type=click.Path(allow_dash=True), required=False)
@click.option(
    "--out", "-o", callback=check_target, default="-", metavar="PATH", help="File to write; - is CSV to stdout."
)
@click.option("--binary", is_flag=True, help="Write 1 where the probability is above one half, 0 elsewhere.")
def transform(run: Path, data: str | None, out: str, binary: bool) -> None:
    """Write the features of new rows, in the columns of the features that RUN has found.

    TABLE has the columns of the fitted one; cells may be missing, and so may whole columns of data. A row without any
    data gets its features from its covariates alone. New rows link to fitted rows only (or borrow from them, or arrive
    after them); those of a sequential prior to earlier ones. Without TABLE, the features of the fitted rows are
    written.

    Every feature is a column of probabilities; features_fresh is the expected number of features that no fitted row
    has.

    \b
    Examples:
      ddibp transform run new.csv -o features.csv
      ddibp transform run --binary -o features.csv
    """  # noqa: D301
    from ddibp.cli.runs import open_run

    opened = open_run(run)
    if data is None:
        probabilities, fresh = opened.posterior.feature_probabilities().probabilities, None
        table = opened.table
    else:
        from ddibp.cli.tables import read_table

        table = read_table(data)
        probabilities, fresh = _extend(opened, table)
    columns = _labels(opened.record, table)
    for k in range(probabilities.shape[1]):
        p = probabilities[:, k]
        columns[f"feature_{k}"] = [str(int(x > 0.5)) for x in p] if binary else [f"{x:.4f}" for x in p]
    if fresh is not None and not binary:
        columns["features_fresh"] = [f"{x:.4f}" for x in fresh]
    write_table(out, columns)
    click.echo(
        f"{probabilities.shape[1]} features of {len(table)} rows" + ("" if out == "-" else f", in {out}"), err=True
    )


def _extend(run: Run, table: Table) -> tuple[NDArray[Any], NDArray[Any]]:
    import numpy as np

    from ddibp.cli import cells
    from ddibp.prediction import extend

    record = run.record
    present = [name for name in record.columns if name in table.columns]
    X = np.full((len(table), len(record.columns)), np.nan)
    if present:
        X[:, [record.columns.index(name) for name in present]] = cells.data(table, present)
    for j in np.flatnonzero(record.logged):
        if (X[:, j] <= 0.0).any():
            row, name = int(np.argmax(X[:, j] <= 0.0)), record.columns[j]
            raise ValueError(f"{table.cell(row, name)}: {X[row, j]:g} has no logarithm, and the fit took that.")
    linked = "covariates" in run.posterior.context
    for name, dated in zip(record.covariates, record.dated, strict=True):
        if linked and cells.dated(table, name) != dated:
            kind = "dates" if dated else "numbers"
            raise ValueError(f"{table.cell(0, name)}: {table[name][0]!r}, but the fit had {kind} there.")
    t = cells.covariates(table, record.covariates) if linked else None
    extension = extend(
        run.posterior,
        record.to_scaling().forward(X),
        t[:, 0] if t is not None and t.shape[1] == 1 else t,
        groups_new=cells.labels(table, record.group) if record.group else None,
    )
    return extension.probabilities, extension.fresh


def _labels(record: Record, table: Table) -> dict[str, list[str]]:
    """Return the columns by which a reader knows the rows: names, covariates and groups."""
    names = [record.id, *record.covariates, record.group]
    return {name: table[name] for name in names if name is not None and name in table.columns}
