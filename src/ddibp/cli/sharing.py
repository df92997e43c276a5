"""``ddibp sharing``: how many features rows share under a prior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ddibp.cli.simulation import SIMULATION, choose_seed, describe_settings, model_and_rows, write_result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@click.command()
@SIMULATION
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

    prior, covariates, known = model_and_rows(options)
    seed = choose_seed(options)
    compute = laws.limiting_fraction if fraction else laws.expected
    S = compute(prior, covariates, method=method, n_draws=draws, rng=seed)
    label = "limiting fraction of shared features" if fraction else "expected shared features"
    settings = describe_settings(prior, seed=seed, fraction=fraction, method=S.method, draws=draws)
    arrays, accuracy = {"sharing": S.values, **known, "settings": settings}, ""
    if S.standard_error is not None:
        arrays["standard_error"] = S.standard_error
        accuracy = f" ({draws} draws, seed {seed}), largest standard error {S.standard_error.max():.2g}"

    def draw(ax: Axes) -> None:
        from ddibp import plots

        plots.sharing_matrix(S, label=label, ax=ax)

    write_result(options["out"], "row", S.values, arrays, draw)
    click.echo(f"{label} of {S.shape[0]} rows by {S.method}{accuracy}", err=True)
