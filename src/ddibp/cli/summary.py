"""``ddibp summary``: what was fitted, and whether to trust it, in the terminal."""

from __future__ import annotations

from pathlib import Path

import click

from ddibp.cli.group import DOUBTFUL, shortened

_MOST_LISTED = 6
_LEAST_LISTED = 0.005  # less is 0 %, rounded


@click.command()
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--strict", is_flag=True, help="Exit with status 3 if the diagnostics warn.")
def summary(run: Path, strict: bool) -> None:
    """Tell what RUN has fitted, how many features it found, and whether to trust it.

    R-hat should be at most 1.01, and effective sample sizes (ESS) at least 100 per chain.

    \b
    Examples:
      ddibp summary run
      ddibp summary run --strict > diagnostics.txt
    """  # noqa: D301
    from ddibp.cli.runs import has_record, open_posterior, read_record

    posterior = open_posterior(run)
    if has_record(run):
        record, _ = read_record(run)
        click.echo(f"table       {record.source}, columns {record.scaling_in_words()}")
    n_rows, n_columns = posterior.observed.shape
    click.echo(f"data        {n_rows} rows, {n_columns} columns, {int(posterior.missing.sum())} entries missing")
    click.echo(f"prior       {posterior.prior!r}\nlikelihood  {posterior.likelihood!r}")
    law = posterior.n_features_law()
    likely = sorted(sorted(law, key=law.__getitem__, reverse=True)[:_MOST_LISTED])
    likely = [k for k in likely if law[k] >= _LEAST_LISTED] or likely
    more = ", ..." if len(law) > len(likely) else ""
    click.echo(f"features    {', '.join(f'{k} ({law[k]:.0%})' for k in likely)}{more}\n")
    click.echo(repr(posterior.diagnostics()).removesuffix("\n".join(posterior.diagnostics().warnings)).rstrip())
    for warning in posterior.warnings:
        click.echo(f"\nWarning: {shortened(warning)}")
    if strict and posterior.warnings:
        raise click.exceptions.Exit(DOUBTFUL)
