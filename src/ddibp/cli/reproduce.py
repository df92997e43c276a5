"""``ddibp reproduce``: the paper's figures and tables, one command each."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="List the experiments.")
@click.option("--quick", is_flag=True, help="A small version, for a look; its numbers mean little.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="S", help="Fixes all numbers."
)
@click.option(
    "--out",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    default="results",
    show_default=True,
    metavar="DIR",
    help="Folder with a folder for every experiment; fits that are there are not done again.",
)
@click.option(
    "--n-jobs", type=int, default=1, show_default=True, metavar="J", help="Fits at the same time; -1: one a core."
)
def reproduce(name: str | None, listing: bool, quick: bool, seed: int, out: Path, n_jobs: int) -> None:
    """Reproduce a figure or a table of the paper, or what lies beyond it: pictures, numbers (CSV) and a page.

    NAME is an experiment (see --list), or "all". An interrupted run goes on where it was when it is called again.
    Experiments on data that do not come with the package look for them in the folder DDIBP_DATA.

    \b
    Examples:
      ddibp reproduce --list
      ddibp reproduce decays
      ddibp reproduce all --quick --out look --n-jobs 2
    """  # noqa: D301
    from ddibp import experiments

    if listing or name is None:
        width = max(map(len, experiments.NAMES))
        for known, title in experiments.titles().items():
            click.echo(f"{known:{width}s}  {title}")
        return
    if n_jobs == 0:
        raise ValueError("--n-jobs must not be 0; give a number of fits, or -1 for one a core.")
    if name != "all":
        click.echo(experiments.reproduce(name, out, seed=seed, quick=quick, n_jobs=n_jobs))
        return
    for each in experiments.NAMES:
        click.echo(f"{each} ...", err=True)
        try:
            click.echo(experiments.reproduce(each, out, seed=seed, quick=quick, n_jobs=n_jobs))
        except FileNotFoundError as error:
            click.echo(f"{each} is left out: {error}", err=True)
