"""``ddibp report``: a page about a run, for a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ddibp.cli.tables import check_path


def _check_out(ctx: click.Context, param: click.Parameter, value: str) -> str:
    return check_path(ctx, param, value, (".html",))


@click.command()
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "--out", "-o", callback=_check_out, default="report.html", show_default=True, metavar="PATH", help="File to write."
)
@click.option("--title", help="Heading.  [default: the name of the table]")
@click.option(
    "--interval",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    metavar="P",
    help="Probability of the intervals.",
)
def report(run: Path, out: str, title: str | None, interval: float) -> None:
    """Write one HTML page about RUN: what was found, and whether to trust it. It needs no network.

    Data, weights and imputations are in the units of the table; columns that were logged are shown as logs.

    \b
    Examples:
      ddibp report run -o report.html
      ddibp report run -o soil.html --title "Metals in topsoil"
    """  # noqa: D301
    from ddibp.cli.runs import has_record, open_posterior, open_run
    from ddibp.report import write_report

    if has_record(run):
        opened = open_run(run)
        options: dict[str, Any] = {
            "title": title or f"Latent features of {Path(opened.record.source).name}",
            "column_names": opened.record.column_names(),
            "row_names": opened.row_names(),
            "covariate_names": opened.record.covariates or None,
            "center": opened.record.center,
            "scale": opened.record.scale,
        }
        posterior = opened.posterior
    else:
        posterior, options = open_posterior(run), {"title": title} if title else {}
    if out == "-":
        from ddibp.report import render_report

        click.echo(render_report(posterior, **options, interval=interval))
        return
    click.echo(write_report(posterior, out, **options, interval=interval))
