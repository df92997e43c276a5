"""``ddibp fit``: a table in, draws of its features in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ddibp.cli.group import DOUBTFUL, INTERRUPTED
from ddibp.cli.options import CUTOFF, DECAY, METRIC, OF_SOME_PRIORS, SEQUENTIAL, Registered, several, stacked

_COLUMNS = stacked(
    several("--covariate", help="Time, place, age, ... of the rows: numbers, or dates (as days)."),
    several("--columns", help="Columns of data.  [default: all that have no other role]"),
    several("--exclude", help="Columns that are not data."),
    click.option("--id", metavar="COLUMN", help="Names of the rows, all different."),
    click.option("--group", metavar="COLUMN", help="Labels; rows with different ones share no features."),
    several("--log", help="Columns of which to take the logarithm."),
    click.option(
        "--standardise",
        "scaling",
        flag_value="standardise",
        help="Subtract the mean of every column and divide by its standard deviation.  [default]",
    ),
    click.option("--center", "scaling", flag_value="center", help="Subtract the mean only."),
    click.option("--raw", "scaling", flag_value="raw", help="Take numbers as they stand."),
)
_MODEL = stacked(
    click.option(
        "--prior",
        type=Registered("prior", "priors"),
        default="ddibp",
        show_default=True,
        help="Prior of the features.",
    ),
    DECAY,
    click.option(
        "--beta", type=float, help="Rate of the exponential, steepness of the logistic decay.  [default: learned]"
    ),
    click.option("--nu", type=float, help="Width of the window, offset of the logistic decay.  [default: learned]"),
    SEQUENTIAL,
    METRIC,
    CUTOFF,
    click.option("--alpha", type=float, help="Mass: how many features.  [default: learned]"),
    click.option("--gamma", type=float, help="Mass of the dHBP, in place of alpha.  [default: learned]"),
    *OF_SOME_PRIORS,
    click.option("--sigma-x", type=float, help="Standard deviation of the noise.  [default: learned]"),
    click.option("--sigma-w", type=float, help="Standard deviation of the weights.  [default: learned]"),
)
_COUNT = click.IntRange(min=1)
_RUN = stacked(
    click.option(
        "--draws", type=_COUNT, default=1000, show_default=True, metavar="N", help="Draws to keep of every chain."
    ),
    click.option(
        "--tune",
        type=click.IntRange(min=0),
        default=500,
        show_default=True,
        metavar="N",
        help="Iterations before the first draw.",
    ),
    click.option("--chains", type=_COUNT, default=4, show_default=True, metavar="N", help="Number of chains."),
    click.option("--thin", type=_COUNT, default=1, show_default=True, metavar="N", help="Iterations per draw."),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="Fixes the result."
    ),
    click.option("--jobs", type=_COUNT, metavar="N", help="Chains at the same time.  [default: one per core]"),
    click.option(
        "--schedule",
        type=click.Choice(["default", "paper"]),
        default="default",
        show_default=True,
        help="Moves of an iteration; paper: those that were published for the dd-IBP.",
    ),
    click.option("--keep-weights", is_flag=True, help="Sample weights along, instead of summing them out."),
    click.option(
        "--resume", is_flag=True, help="Go on with the run in --out if there is one; a larger --draws extends it."
    ),
    click.option("--strict", is_flag=True, help="Exit with status 3 if the diagnostics warn."),
    click.option(
        "--out", "-o", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="Folder of the run."
    ),
    click.option("--quiet", "-q", is_flag=True, help="Show no bars."),
)


@click.command()
@click.argument("data", metavar="TABLE", type=click.Path(allow_dash=True))
@_COLUMNS
@_MODEL
@_RUN
def fit(data: str, **options: Any) -> None:
    """Find the features of a table, and keep the draws in a folder.

    TABLE is CSV, TSV, Parquet or NPZ, or - for standard input. Empty cells, NA and NaN are missing. Columns are
    standardised unless you say otherwise. What is not given as a number is learned from the data: masses, scales,
    decays, concentrations (c0, c1) and length scales; a variance is 1 and a nugget 0.1 unless given.

    \b
    Examples:
      ddibp fit data.csv --covariate age --out run
      ddibp fit soil.csv --covariate lat,lon --metric haversine --log Cd,Zn --id site --out soil-run
      ddibp fit eeg.tsv --covariate time --sequential --decay window --nu 0.5 --draws 2000 --out eeg-run
      ddibp fit data.csv --covariate age --prior dibp --kernel matern32 --out smooth-run
      ddibp fit data.csv --covariate age --draws 5000 --out run --resume
    """  # noqa: D301
    from ddibp.cli import fitting

    plan = fitting.prepare(data, options)
    click.echo(f"{plan.description}\n{plan.prior!r}", err=True)
    posterior, interruption = fitting.sample(plan, options)
    click.echo(repr(posterior).strip("<>"), err=True)
    if interruption:
        click.echo(interruption, err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    for warning in posterior.warnings:
        click.echo(f"Warning: {warning}", err=True)
    click.echo(f"The run is in {options['out']}: see ddibp summary, impute, transform and report.", err=True)
    if options["strict"] and posterior.warnings:
        raise click.exceptions.Exit(DOUBTFUL)
