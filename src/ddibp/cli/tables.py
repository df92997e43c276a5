"""Reading and writing tables: CSV, TSV, Parquet and NPZ in, the same out; cells are text until somebody asks."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

_TEXT = (".csv", ".tsv", ".txt", "")  # the last is that of standard input and of pipes
WRITTEN = (".csv", ".tsv", ".parquet", ".npz")
_UNNAMED = "unnamed_"


@dataclass(frozen=True)
class Table:
    """Columns of text by name, as they stood (indexing takes blanks off), and where their rows stand in the source."""

    source: str
    columns: dict[str, list[str]]
    places: Sequence[str]

    def __getitem__(self, name: str) -> list[str]:
        self.require(name)
        return [cell.strip() for cell in self.columns[name]]

    def __len__(self) -> int:
        return len(self.places)

    @property
    def names(self) -> list[str]:
        """Names of all columns that have one."""
        return [name for name in self.columns if not name.startswith(_UNNAMED)]

    def require(self, name: str) -> None:
        """Raise unless there is a column of this name."""
        if name not in self.columns:
            raise ValueError(f"{self.source} has no column {name!r}; its columns are {listed(self.names)}.")

    def cell(self, row: int, name: str) -> str:
        """Return how to call a cell in a message."""
        return f"{self.source}, {self.places[row]}, column {name!r}"


def listed(names: Sequence[str]) -> str:
    """Return names for a message, not more than it can hold."""
    return ", ".join(names[:20]) + (f", ... ({len(names)} in all)" if len(names) > 20 else "")


def read_table(file: str) -> Table:
    """Return the table that a file holds; ``-`` is standard input, as CSV or TSV."""
    source = "standard input" if file == "-" else file
    suffix = Path(file).suffix.lower()
    if suffix == ".parquet":
        return _read_parquet(file)
    if suffix == ".npz":
        return _read_npz(file)
    if suffix not in _TEXT:
        raise ValueError(f"{file} must end in .csv, .tsv, .txt, .parquet or .npz, which tells the format.")
    return _read_text(file, source, "\t" if suffix == ".tsv" else None)


def _read_text(file: str, source: str, delimiter: str | None) -> Table:
    try:
        with click.open_file(file, encoding="utf-8-sig") as stream:
            text = stream.read()
        first = text.lstrip().split("\n", 1)[0]
        reader = csv.reader(io.StringIO(text), strict=True, delimiter=delimiter or _delimiter(first))
        lines = [(reader.line_num, row) for row in reader]
    except OSError as error:
        raise ValueError(f"cannot read {source}: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{source} is not a CSV file in UTF-8: {error}.") from None
    while lines and not "".join(lines[-1][1]).strip() and len(lines[-1][1]) <= 1:
        lines.pop()
    if not lines:
        raise ValueError(f"{source} is empty; it needs a header with the names of columns and a line per row.")
    header = [name.strip() for name in lines.pop(0)[1]]
    if not lines:
        raise ValueError(f"{source} has a header but no rows below it.")
    if all(_is_number(name) for name in header):
        raise ValueError(f"{source}, line 1 holds numbers, but it must be a header with the names of columns.")
    for n, row in lines:
        if len(row) != len(header):
            raise ValueError(
                f"{source}, line {n}: cells must match the header's {len(header)} in number, got {len(row)}."
            )
    names = [name or f"{_UNNAMED}{i + 1}" for i, name in enumerate(header)]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{source} has more than one column {name!r}; its columns are {listed(names)}.")
    columns = {name: [row[i] for _, row in lines] for i, name in enumerate(names)}
    return Table(source, columns, [f"line {n}" for n, _ in lines])


def _delimiter(header: str) -> str:
    for delimiter in (",", "\t", ";"):
        if delimiter in header:
            return delimiter
    return ","


def _read_parquet(file: str) -> Table:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ValueError(
            f"reading {file} needs pyarrow, which is not installed: pip install 'ddibp[parquet]'."
        ) from None
    try:
        table = parquet.read_table(file)
    except OSError as error:
        raise ValueError(f"cannot read {file}: {error.strerror or 'it is damaged or no Parquet file'}.") from None
    except ArrowException:
        raise ValueError(f"cannot read {file}: it is damaged or no Parquet file.") from None
    columns = {
        f"{_UNNAMED}{i + 1}" if name.startswith("__index_level_") else name: [_text(x) for x in column.to_pylist()]
        for i, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True))
    }
    return _counted(file, columns, table.num_rows)


def _read_npz(file: str) -> Table:
    """Return the arrays with as many rows as X (or, without an X, as the longest); columns of X are X_0, X_1, ..."""
    import zipfile

    import numpy as np

    try:
        with np.load(file, allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved.files}
    except FileNotFoundError as error:
        raise ValueError(f"cannot read {file}: {error.strerror}.") from None
    except (ValueError, OSError, EOFError, AttributeError, TypeError, zipfile.BadZipFile):
        raise ValueError(f"cannot read {file}: it is damaged or no NPZ file of plain arrays.") from None
    arrays = {name: array for name, array in arrays.items() if array.ndim in (1, 2)}
    if not arrays:
        raise ValueError(f"{file} holds no array of one or two dimensions.")
    n_rows = len(arrays["X"]) if "X" in arrays else max(map(len, arrays.values()))
    columns: dict[str, list[str]] = {}
    for name, array in arrays.items():
        if len(array) == n_rows:
            several = {f"{name}_{j}": array[:, j] for j in range(array.shape[1])} if array.ndim == 2 else {name: array}
            columns |= {key: [_text(x) for x in values.tolist()] for key, values in several.items()}
    return _counted(file, columns, n_rows)


def _counted(file: str, columns: dict[str, list[str]], n_rows: int) -> Table:
    if not columns or not n_rows:
        raise ValueError(f"{file} has no rows.")
    return Table(file, columns, [f"row {i + 1}" for i in range(n_rows)])


def _text(value: Any) -> str:
    if value is None or value != value:  # NaN and NaT differ from themselves
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def check_target(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Return where a table is to go, or say why that is impossible."""
    return check_path(ctx, param, value, WRITTEN)


def check_path(ctx: click.Context, param: click.Parameter, value: str, suffixes: Sequence[str]) -> str:
    """Return a path to write to if its suffix is a known one and its folder is there; ``-`` is standard output."""
    if value == "-":
        return value
    path = Path(value)
    if path.suffix.lower() not in suffixes:
        known = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}" if len(suffixes) > 1 else suffixes[0]
        chooses = ", which chooses the format" if len(suffixes) > 1 else ""
        raise click.BadParameter(f"{value!r} must end in {known}{chooses}.", ctx, param)
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no directory {str(path.parent)!r} to write {path.name!r} to.", ctx, param)
    return value


@contextlib.contextmanager
def naming(path: str | Path, if_full: str = "") -> Iterator[None]:
    """Make errors of the system say which file they are about, and what to do if the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        if error.errno == errno.ENOSPC and if_full:
            error.add_note(if_full)
        raise


def write_table(out: str, columns: Mapping[str, Sequence[str]]) -> None:
    """Write columns of text; Parquet and NPZ get numbers where a column holds nothing else."""
    with naming(out):
        _write(out, columns)


def _write(out: str, columns: Mapping[str, Sequence[str]]) -> None:
    suffix = Path(out).suffix.lower()
    if suffix == ".npz":
        import numpy as np

        with open(out, "wb") as binary:
            arrays: dict[str, Any] = {name: np.array(_typed(cells)) for name, cells in columns.items()}
            np.savez_compressed(binary, **arrays)
    elif suffix == ".parquet":
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError:
            raise ValueError(
                f"writing {out} needs pyarrow, which is not installed: pip install 'ddibp[parquet]'."
            ) from None
        parquet.write_table(pa.table({name: pa.array(_typed(cells)) for name, cells in columns.items()}), out)
    else:
        with click.open_file(out, "w", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n", delimiter="\t" if suffix == ".tsv" else ",")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
            stream.flush()


def _typed(cells: Sequence[str]) -> list[Any]:
    """Return numbers if all cells that are not empty are; whole numbers if all are whole."""
    if not all(cell == "" or _is_number(cell) for cell in cells):
        return list(cells)
    if all(cell.lstrip("-").isdecimal() for cell in cells):
        return [int(cell) for cell in cells]
    return [float(cell or "nan") for cell in cells]
