"""A table with what is known of its rows, and how to read one from a CSV file."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ORIGINS = "Where the files come from is in the README.md of ddibp.datasets."


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with what is known of its rows.

    Attributes
    ----------
    X : ndarray of float, shape (n_rows, n_columns)
        The data.
    covariates : ndarray of float or None
        A number per row, or a row of coordinates; None if there is nothing of the kind.
    column_names, covariate_names, row_names : tuple of str
        Names.
    groups : ndarray or None
        Labels of rows that belong together, such as recordings; rows of different groups share nothing.
    labels : ndarray or None
        What one may want to compare features with, such as a diagnosis.
    description : str
        What it is and where it comes from.

    Examples
    --------
    >>> from ddibp import datasets
    >>> datasets.load_elnino()
    <Dataset of 61 rows x 12 columns, covariates YEAR>
    """

    X: NDArray[np.float64]
    covariates: NDArray[np.float64] | None
    column_names: tuple[str, ...]
    covariate_names: tuple[str, ...]
    row_names: tuple[str, ...]
    groups: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    description: str = ""

    def __repr__(self) -> str:
        n, m = self.X.shape
        known = f"covariates {', '.join(self.covariate_names)}" if self.covariate_names else "no covariates"
        return f"<Dataset of {n} rows x {m} columns, {known}>"


def read_csv(
    path: str | os.PathLike[str] | None,
    name: str,
    *,
    columns: Sequence[str] | None = None,
    covariates: Sequence[str] = (),
    rows: str | None = None,
    group: str | None = None,
    label: str | None = None,
    leave_out: Sequence[str] = (),
    description: str,
) -> Dataset:
    """Return a CSV file as a `Dataset`; a folder stands for the file called ``name`` in it, or one level below."""
    where = find(path, name)
    with open(where, encoding="utf-8-sig", newline="") as stream:
        header, *lines = csv.reader(stream)
    wanted = [name for name in (*covariates, rows, group, label, *(columns or ())) if name is not None]
    absent = [name for name in wanted if name not in header]
    if absent:
        raise ValueError(f"{where} has no column {absent[0]!r}; its columns are {', '.join(header[:8])}, ...")
    if columns is None:
        columns = [name for name in header if name not in wanted and name not in leave_out]

    def text(column: str | None) -> NDArray[np.str_] | None:
        return None if column is None else np.array([line[header.index(column)] for line in lines])

    def numbers(names: Sequence[str]) -> NDArray[np.float64]:
        at = [header.index(column) for column in names]
        return np.array([[float(line[i] or "nan") for i in at] for line in lines])

    t = numbers(covariates) if covariates else None
    labels = text(rows)
    return Dataset(
        X=numbers(columns),
        covariates=t[:, 0] if t is not None and t.shape[1] == 1 else t,
        column_names=tuple(columns),
        covariate_names=tuple(covariates),
        row_names=tuple(map(str, range(len(lines)))) if labels is None else tuple(labels.tolist()),
        groups=text(group),
        labels=text(label),
        description=description,
    )


def find(path: str | os.PathLike[str] | None, name: str) -> Path:
    """Return the file ``name`` at, in or one level below ``path``, by default the folder DDIBP_DATA."""
    given = Path(os.environ.get("DDIBP_DATA", "") if path is None else path)
    if path is None and not os.environ.get("DDIBP_DATA"):
        raise FileNotFoundError(
            f"{name} is needed, which does not come with ddibp: set DDIBP_DATA to a folder that holds it (or has it "
            f"one level below), or give path=. {_ORIGINS}"
        )
    if given.is_file():
        return given
    found = [given / name, *sorted(given.glob(f"*/{name}"))]
    for candidate in found:
        if candidate.is_file():
            return candidate
    if path is None:
        raise FileNotFoundError(f"{name} is not in the folder DDIBP_DATA, {str(given)!r}, nor below it. {_ORIGINS}")
    raise FileNotFoundError(f"path must be the file {name} or a folder that holds it, got {str(path)!r}.")
