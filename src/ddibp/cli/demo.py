"""``ddibp demo``: what the package is for, on data that come with it."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--out",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    default="demo",
    show_default=True,
    help="Directory to write to; made if missing.",
)
@click.option("--decays", is_flag=True, help="Only draw the four decays, which takes seconds.")
def demo(out: Path, decays: bool) -> None:
    """Fill holes in a table of sea-surface temperatures, beside other methods; and draw the four decays.

    61 years by 12 months, with some months hidden. Prints how far each method is from what was hidden, and writes the
    completed table, a report, pictures of the four decays, and tables of these.

    \b
    Examples:
      ddibp demo
      ddibp demo --decays --out pictures
    """  # noqa: D301
    from ddibp import demo as demonstration

    if not decays:
        for line in demonstration.run_elnino(out):
            click.echo(line)
    for path in demonstration.run_decays(out):
        click.echo(path)
