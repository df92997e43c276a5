"""The four decays at a glance: a draw of the dd-IBP with each of them, and how much its rows share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ddibp import plots, sharing
from ddibp.priors import DDIBP
from ddibp.proximity import Constant, Decay, Exponential, Logistic, Window

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS = 200
ALPHA = 3.0
SEED = 0
DECAYS: dict[str, Decay] = {
    "constant": Constant(),
    "exponential": Exponential(0.1),
    "logistic": Logistic(1.0, 10.0),
    "window": Window(6.0),
}
TITLES = {
    "constant": "Constant: $f(d) = 1$, the IBP",
    "exponential": r"Exponential: $f(d) = e^{-0.1 d}$",
    "logistic": r"Logistic: $f(d) = 1/(1 + e^{d - 10})$",
    "window": "Window: $f(d) = 1$ for $d < 6$",
}


def run_decays(out: Path) -> list[Path]:
    """Simulate 200 rows in time with each decay; write pictures and tables to ``out`` and return their paths."""
    t = np.arange(float(ROWS))
    priors = {name: DDIBP(decay, alpha=ALPHA, sequential=True) for name, decay in DECAYS.items()}
    features = {name: prior.sample(t, rng=SEED) for name, prior in priors.items()}
    fractions = {name: sharing.limiting_fraction(prior, t).values for name, prior in priors.items()}
    out.mkdir(parents=True, exist_ok=True)
    paths = [_draw_features(features, out / "decays.png"), _draw_fractions(fractions, out / "sharing.png")]
    for name in DECAYS:
        paths.append(_write(features[name].astype(int), "feature", out / f"features_{name}.csv"))
        paths.append(_write(fractions[name], "row", out / f"sharing_{name}.csv"))
    return paths


def _draw_features(features: dict[str, NDArray[np.bool_]], path: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 7.5), layout="constrained", dpi=150)
    axes = figure.subplots(2, 2)
    for ax, (name, Z) in zip(axes.flat, features.items(), strict=True):
        plots.feature_matrix(Z, ax=ax)
        ax.set(xlabel="", ylabel="")
        ax.set_title(TITLES[name], loc="left", fontsize=11)
        _inset_decay(ax, DECAYS[name])
    for ax in axes[1]:
        ax.set_xlabel("feature (by onset)")
    for ax in axes[:, 0]:
        ax.set_ylabel("row (time)")
    figure.savefig(path)
    return path


def _inset_decay(ax: Axes, decay: Decay) -> None:
    """Draw the decay into the upper right corner, which is empty as no feature is active before its onset."""
    inset = ax.inset_axes((0.77, 0.8, 0.2, 0.17))
    plots.decay(decay, max_distance=30.0, ax=inset)
    inset.set(xlabel="", ylabel="", xticks=[0, 30], yticks=[0, 1])
    inset.set_xlabel("$d$", fontsize=8, labelpad=-8)
    inset.set_ylabel("$f(d)$", fontsize=8, labelpad=-4)
    inset.tick_params(labelsize=7, length=2)
    inset.spines[["top", "right"]].set_visible(False)


def _draw_fractions(fractions: dict[str, NDArray[np.float64]], path: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 3.5), layout="constrained", dpi=150)
    axes = figure.subplots(1, 4, sharey=True)
    for ax, (name, S) in zip(axes, fractions.items(), strict=True):
        image = ax.imshow(S, cmap="cividis", vmin=0.0, vmax=0.5, aspect="auto")
        ax.set(xlabel="row (time)", xticks=[0, 50, 100, 150], yticks=[0, 50, 100, 150])
        ax.set_title(TITLES[name], loc="left", fontsize=11)
    axes[0].set_ylabel("row (time)")
    # The diagonal is 1, beyond the bar, so that the other pairs get all of its colours.
    figure.colorbar(image, ax=axes, extend="max", label="limiting fraction $R_{ij}/R_i$")
    figure.savefig(path)
    return path


def _write(table: NDArray[np.float64] | NDArray[np.int64], prefix: str, path: Path) -> Path:
    header = ",".join(f"{prefix}_{k}" for k in range(table.shape[1]))
    np.savetxt(path, table, fmt="%s", delimiter=",", header=header, comments="")
    return path
