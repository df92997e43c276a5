"""The command line: simulate feature matrices and compute feature sharing from a shell, errors in one line.

Everything heavy is imported by the commands themselves, so that help comes at once.
"""

from __future__ import annotations

import csv
import inspect
import json
import math
import secrets
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ddibp import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SUFFIXES = (".csv", ".npz", ".png")
_DECAY_PARAMETERS = ("beta", "nu")
_PARAMETERS = ("decay", *_DECAY_PARAMETERS, "alpha", "gamma", "c0", "c1", "coupling", "sequential", "metric", "cutoff")


class _Main(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (ValueError, TypeError, OSError, MemoryError) as error:
            if ctx.params["debug"]:
                raise
            if isinstance(error, (ValueError, TypeError)):
                raise _BadInput(str(error)) from None
            where = f"{error.filename}: {error.strerror}." if isinstance(error, OSError) and error.filename else ""
            raise click.ClickException(where or str(error) or "not enough memory.") from None


class _BadInput(click.ClickException):
    exit_code = 2


class _Registered(click.ParamType):  # type: ignore[type-arg]
    """A name in the registry, which is read when the name is looked at."""

    def __init__(self, name: str, table: str) -> None:
        self.name, self.table = name, table

    def choices(self) -> list[str]:
        from ddibp import registry

        return sorted(getattr(registry, self.table)())

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002
        return f"[{'|'.join(self.choices())}]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices():
            self.fail(f"{value!r} is not one of {', '.join(self.choices())}.", param, ctx)
        return value


def _check_out(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if value == "-":
        return value
    path = Path(value)
    if path.suffix.lower() not in _SUFFIXES:
        raise click.BadParameter(f"{value!r} must end in .csv, .npz or .png, which chooses the format.", ctx, param)
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no directory {str(path.parent)!r} to write {path.name!r} to.", ctx, param)
    return value


_OPTIONS = (
    click.option("--prior", type=_Registered("prior", "priors"), default="ddibp", show_default=True, help="Prior."),
    click.option("--decay", type=_Registered("decay", "decays"), help="Decay of distance.  [default: exponential]"),
    click.option("--beta", type=float, help="Rate of the exponential, steepness of the logistic decay."),
    click.option("--nu", type=float, help="Width of the window, offset of the logistic decay."),
    click.option("--alpha", type=float, help="Mass of the IBP and dd-IBP.  [default: random, Gamma(1, 1)]"),
    click.option("--gamma", type=float, help="Mass of the dHBP.  [default: random, Gamma(1, 1)]"),
    click.option("--c0", type=float, help="Concentration of the dHBP's base measure."),
    click.option("--c1", type=float, help="Concentration of the dHBP's rows."),
    click.option(
        "--coupling",
        type=click.Choice(["customer", "dish"]),
        help="Whether a dHBP row or each of its features borrows.",
    ),
    click.option("--sequential/--no-sequential", default=None, help="Rows link to earlier rows only."),
    click.option("--metric", help="euclidean, cityblock, haversine, ...; precomputed: the file holds distances."),
    click.option("--cutoff", type=float, help="Decays at or below this count as 0."),
    click.option("--rows", type=click.IntRange(min=1), metavar="N", help="Rows at times 0, 1, ..., N-1."),
    click.option("--covariates", metavar="FILE", help="CSV file with a header and a line per row; - is stdin."),
    click.option("--covariate", multiple=True, metavar="COLUMN", help="Column of the file to take; may be repeated."),
    click.option("--group", metavar="COLUMN", help="Column of labels; rows with different ones are infinitely apart."),
    click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed.  [default: a new one, reported]"),
    click.option("--out", callback=_check_out, default="-", metavar="PATH", help="File to write; - is CSV to stdout."),
)


def _model_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ddibp", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error instead of one line.")
def main(debug: bool) -> None:
    """Infinite latent feature models for data with a time, a place or any distance between rows."""


@main.command()
@_model_options
def simulate(**options: Any) -> None:
    """Draw a binary feature matrix from a prior; rows are data points, columns are features.

    The suffix of --out chooses the format: .csv (zeros and ones), .npz (with owners and links where the prior has them,
    covariates and settings) or .png (a picture).

    \b
    Examples:
      ddibp simulate --decay exponential --beta 0.1 --rows 200 --alpha 3 --out z.csv
      ddibp simulate --prior dhbp --decay window --nu 9 --rows 99 --gamma 2 --out z.png
    """  # noqa: D301
    prior, covariates, known = _model(options)
    seed = _seed(options)
    if "return_causes" in inspect.signature(prior.sample).parameters:
        arrays = prior.sample(covariates, rng=seed, return_causes=True)._asdict()
    else:
        arrays = {"Z": prior.sample(covariates, rng=seed)}
    Z = arrays["Z"]

    def draw(ax: Axes) -> None:
        from ddibp import plots

        plots.feature_matrix(Z, owners=arrays.get("owners"), ax=ax)

    arrays |= {**known, "settings": _settings(prior, seed=seed)}
    _write(options["out"], "feature", Z.astype("uint8"), arrays, draw)
    click.echo(f"{Z.shape[1]} features in {Z.shape[0]} rows, seed {seed}", err=True)


@main.command()
@_model_options
@click.option("--fraction", is_flag=True, help="Limiting fraction R_ij / R_i instead of the expected number R_ij.")
@click.option(
    "--method",
    type=click.Choice(["auto", "recursion", "enumeration", "monte carlo"]),
    default="auto",
    show_default=True,
    help="How to compute; auto is exact where that is possible.",
)
@click.option(
    "--draws", type=click.IntRange(min=2), default=1000, show_default=True, metavar="N", help="Draws for monte carlo."
)
def sharing(fraction: bool, method: str, draws: int, **options: Any) -> None:
    """Compute how many features each pair of rows is expected to share.

    The numbers are exact where a method for that applies, and otherwise Monte Carlo averages with standard errors.
    The suffix of --out chooses the format: .csv (the matrix), .npz (with standard errors, covariates and settings) or
    .png (a heat map).

    \b
    Examples:
      ddibp sharing --decay exponential --beta 0.1 --rows 50 --alpha 3 --out s.csv
      ddibp sharing --decay window --nu 9 --sequential --rows 99 --fraction --out s.png
    """  # noqa: D301
    from ddibp import sharing as laws

    prior, covariates, known = _model(options)
    seed = _seed(options)
    compute = laws.limiting_fraction if fraction else laws.expected
    S = compute(prior, covariates, method=method, n_draws=draws, rng=seed)
    label = "limiting fraction of shared features" if fraction else "expected shared features"
    settings = _settings(prior, seed=seed, fraction=fraction, method=S.method, draws=draws)
    arrays, accuracy = {"sharing": S.values, **known, "settings": settings}, ""
    if S.standard_error is not None:
        arrays["standard_error"] = S.standard_error
        accuracy = f" ({draws} draws, seed {seed}), largest standard error {S.standard_error.max():.2g}"

    def draw(ax: Axes) -> None:
        from ddibp import plots

        plots.sharing_matrix(S, label=label, ax=ax)

    _write(options["out"], "row", S.values, arrays, draw)
    click.echo(f"{label} of {S.shape[0]} rows by {S.method}{accuracy}", err=True)


@main.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="demo",
    show_default=True,
    help="Directory to write to; made if missing.",
)
def demo(out: Path) -> None:
    """Simulate the dd-IBP with each of the four decays.

    Writes pictures of the draws and of how much rows share, and both as tables.

    \b
    Examples:
      ddibp demo
      ddibp demo --out pictures
    """  # noqa: D301
    from ddibp.demo import run

    for path in run(out):
        click.echo(path)


def _model(options: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Return the prior, its covariates (or their proximity) and what is known of the rows by name."""
    prior = _prior(options)
    covariates, groups = _rows(options)
    if groups is None:
        return prior, covariates, {"covariates": covariates}
    if not hasattr(prior, "proximity"):
        raise ValueError(
            f"prior {options['prior']!r} knows no distances, so --group has no meaning for it; leave it out."
        )
    return prior, prior.proximity(covariates, groups=groups), {"covariates": covariates, "groups": groups}


def _prior(options: dict[str, Any]) -> Any:
    from ddibp import registry

    name = options["prior"]
    given = {key: options[key] for key in _PARAMETERS if options[key] is not None}
    if "decay" in {field.name for field in fields(registry.priors()[name])}:
        parameters = {key: given.pop(key) for key in _DECAY_PARAMETERS if key in given}
        given["decay"] = registry.make_decay(given.get("decay", "exponential"), **parameters)
    return registry.make_prior(name, **given)


def _seed(options: dict[str, Any]) -> int:
    return secrets.randbits(32) if options["seed"] is None else int(options["seed"])


def _settings(prior: Any, **settings: Any) -> str:
    return json.dumps({"ddibp": __version__, "prior": repr(prior), **settings})


def _rows(options: dict[str, Any]) -> tuple[Any, Any]:
    """Return covariates and groups (or None)."""
    import numpy as np

    file, names, group = options["covariates"], options["covariate"], options["group"]
    if (options["rows"] is None) == (file is None):
        raise click.UsageError("Say which rows: either --rows N (times 0 to N-1) or --covariates FILE.")
    if file is None:
        if names or group:
            raise click.UsageError("--covariate and --group name columns of a file; give it by --covariates FILE.")
        return np.arange(float(options["rows"])), None
    source = "standard input" if file == "-" else file
    header, lines = _read_csv(file, source)
    precomputed = options["metric"] == "precomputed"
    names = names or _only_names(source, header, group, every=precomputed)
    at = [_column(source, header, name) for name in names]
    values = np.array([[_number(source, n, header[i], row[i], precomputed) for i in at] for n, row in lines])
    labels = None
    if group:
        place = _column(source, header, group)
        for n, row in lines:
            if not row[place]:
                raise ValueError(f"{source}, line {n}, column {group!r}: the cell is empty; every row needs a label.")
        labels = np.array([row[place] for _, row in lines])
    return (values[:, 0] if len(at) == 1 and not precomputed else values), labels


def _read_csv(file: str, source: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the header and (line number, cells) of every line below it; blank lines at the end do not count."""
    try:
        with click.open_file(file, encoding="utf-8-sig") as stream:
            reader = csv.reader(stream, strict=True)
            lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except OSError as error:
        raise ValueError(f"cannot read {source}: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{source} is not a CSV file in UTF-8: {error}.") from None
    while lines and lines[-1][1] in ([], [""]):
        lines.pop()
    if not lines:
        raise ValueError(f"{source} is empty; it needs a header with the names of columns and a line per row.")
    header = lines.pop(0)[1]
    if not lines:
        raise ValueError(f"{source} has a header but no rows below it.")
    for n, row in lines:
        if len(row) != len(header):
            raise ValueError(
                f"{source}, line {n}: cells must match the header's {len(header)} in number, got {len(row)}."
            )
    return header, lines


def _only_names(source: str, header: list[str], group: str | None, *, every: bool) -> list[str]:
    """Return the columns to take where none is named: the only one, or all of a matrix of distances."""
    names = [name for name in header if name != group]
    if all(_is_number(name) for name in header):
        raise ValueError(f"{source}, line 1 holds numbers, but it must be a header with the names of columns.")
    if not names or (len(names) > 1 and not every):
        raise ValueError(f"{source} has columns {', '.join(header)}; choose with --covariate COLUMN.")
    return names


def _column(source: str, header: list[str], name: str) -> int:
    if header.count(name) != 1:
        many = "no" if name not in header else "more than one"
        raise ValueError(f"{source} has {many} column {name!r}; its columns are {', '.join(header)}.")
    return header.index(name)


def _number(source: str, line: int, name: str, cell: str, infinite: bool) -> float:
    if _is_number(cell) and (math.isfinite(float(cell)) or (infinite and float(cell) == math.inf)):
        return float(cell)
    fault = f"{cell!r} is not a finite number" if cell else "the cell is empty"
    raise ValueError(f"{source}, line {line}, column {name!r}: {fault}; fill it in or drop the row.")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _write(out: str, prefix: str, table: Any, arrays: dict[str, Any], draw: Callable[[Axes], None]) -> None:
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
