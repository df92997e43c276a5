"""``ddibp simulate``: draw a feature matrix from a prior."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from ddibp.cli.simulation import SIMULATION, choose_seed, describe_settings, model_and_rows, write_result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@click.command()
@SIMULATION
def simulate(**options: Any) -> None:
    """Draw a binary feature matrix from a prior; rows are data points, columns are features.

    The suffix of --out chooses the format: .csv (zeros and ones), .npz (with owners and links where the prior has them,
    covariates and settings) or .png (a picture).

    \b
    Examples:
      ddibp simulate --decay exponential --beta 0.1 --rows 200 --alpha 3 --out z.csv
      ddibp simulate --prior dhbp --decay window --nu 9 --rows 99 --gamma 2 --out z.png
    """  # noqa: D301
    prior, covariates, known = model_and_rows(options)
    seed = choose_seed(options)
    if "return_causes" in inspect.signature(prior.sample).parameters:
        arrays = prior.sample(covariates, rng=seed, return_causes=True)._asdict()
    else:
        arrays = {"Z": prior.sample(covariates, rng=seed)}
    Z = arrays["Z"]

    def draw(ax: Axes) -> None:
        from ddibp import plots

        plots.feature_matrix(Z, owners=arrays.get("owners"), ax=ax)

    arrays |= {**known, "settings": describe_settings(prior, seed=seed)}
    write_result(options["out"], "feature", Z.astype("uint8"), arrays, draw)
    click.echo(f"{Z.shape[1]} features in {Z.shape[0]} rows, seed {seed}", err=True)
