"""What stands in a run's folder beside its draws: the table as it was read, and what was made of it.

::

    table.csv      the table, cells as they stood in the source
    table.json     columns, covariates, transformations, and the checksum of table.csv
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ddibp import __version__
from ddibp.cli.cells import labels
from ddibp.cli.group import shortened
from ddibp.cli.scaling import Scaling
from ddibp.cli.tables import Table

if TYPE_CHECKING:
    from ddibp.sampling import Posterior

_FORMAT = "ddibp table"
_SCHEMA = 1
_DESCRIPTION, _CELLS = "table.json", "table.csv"


@dataclass(frozen=True)
class Record:
    """What a fit made of a table."""

    source: str
    columns: list[str]
    covariates: list[str]
    dated: list[bool]
    group: str | None
    id: str | None
    logged: list[bool]
    center: list[float]
    scale: list[float]
    scaling: str
    version: str = __version__
    format: str = field(default=_FORMAT)
    schema: int = field(default=_SCHEMA)

    def to_scaling(self) -> Scaling:
        """Return the transformation of the columns."""
        return Scaling(np.array(self.logged, dtype=bool), np.array(self.center), np.array(self.scale))

    def scaling_in_words(self) -> str:
        """Return what was done to the columns."""
        how = {"standardise": "standardised", "center": "centred", "raw": "as they stand"}[self.scaling]
        logs = [name for name, log in zip(self.columns, self.logged, strict=True) if log]
        return how + (f", log of {', '.join(logs)}" if logs else "")

    def column_names(self) -> list[str]:
        """Return names for pictures, in which logged columns are shown as logs."""
        return [f"log {name}" if log else name for name, log in zip(self.columns, self.logged, strict=True)]


@dataclass(frozen=True, eq=False)
class Run:
    """A run's draws, and its table with what was made of it."""

    posterior: Posterior
    record: Record
    table: Table

    def row_names(self) -> list[str]:
        """Return labels of the rows: those of --id, or their numbers."""
        if self.record.id is None:
            return [str(i + 1) for i in range(len(self.table))]
        return labels(self.table, self.record.id)


def open_run(path: Path) -> Run:
    """Return the run that `ddibp fit` has left in a folder."""
    record, table = read_record(path)
    run = Run(open_posterior(path), record, table)
    if run.posterior.n_draws < run.posterior.plan["draws"]:
        click.echo(f"Warning: {shortened(run.posterior.warnings[0])}", err=True)
    return run


def open_posterior(path: Path) -> Posterior:
    """Return the draws in a folder."""
    from ddibp.sampling import load_posterior

    _require_folder(path)
    return load_posterior(path)


def _require_folder(path: Path) -> None:
    if not path.is_dir():
        raise ValueError(f"there is no folder {str(path)!r}. Name one that was made with ddibp fit --out.")


def has_record(path: Path) -> bool:
    """Return whether `ddibp fit` has written a table there."""
    return (path / _DESCRIPTION).is_file()


def read_record(path: Path) -> tuple[Record, Table]:
    """Return what a fit made of its table, and the table."""
    _require_folder(path)
    remedy = "Run ddibp fit --resume with the same table and options to write it anew."
    if not (path / "manifest.json").is_file():
        raise ValueError(f"{path} holds no manifest.json, so it is no run. Make one with ddibp fit --out.")
    if not has_record(path):
        raise ValueError(f"{path} holds no {_DESCRIPTION}, so it was not made by ddibp fit. {remedy}")
    try:
        entries = json.loads((path / _DESCRIPTION).read_bytes())
        cells = (path / _CELLS).read_bytes()
        checksum = entries.pop("checksum")
        record = Record(**entries)
    except FileNotFoundError as error:
        raise ValueError(f"{error.filename} is missing. {remedy}") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path / _DESCRIPTION} is damaged. {remedy}") from error
    if (record.format, record.schema) != (_FORMAT, _SCHEMA):
        raise ValueError(f"{path / _DESCRIPTION} was written by ddibp {record.version}; use that version.")
    if hashlib.sha256(cells).hexdigest() != checksum:
        raise ValueError(f"{path / _CELLS} was changed or is damaged. {remedy}")
    header, *rows = csv.reader(io.StringIO(cells.decode(), newline=""))
    columns = {name: [row[j] for row in rows] for j, name in enumerate(header)}
    return record, Table(record.source, columns, [f"row {i + 1}" for i in range(len(rows))])


def write_record(path: Path, record: Record, table: Table) -> None:
    """Write the table and what was made of it, each file as a whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(zip(*table.columns.values(), strict=True))
    cells = text.getvalue().encode()
    _replace(path / _CELLS, cells)
    entries: dict[str, Any] = asdict(record) | {"checksum": hashlib.sha256(cells).hexdigest()}
    _replace(path / _DESCRIPTION, json.dumps(entries, indent=1).encode())


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".unfinished-{path.name}")
    with open(draft, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
