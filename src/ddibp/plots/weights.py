"""What features do to the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ddibp.plots import _axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_SQUARES = 3000
_MOST_NAMES = 60


def weights(W: Any, *, column_names: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw weights as squares whose areas are their sizes: dark ones are positive, light ones negative.

    Parameters
    ----------
    W : array-like of shape (n_features, n_outputs), or Posterior
        Weights; of a posterior, those of its best draw. More than 3000 are drawn as a heat map.
    column_names : sequence of str of length n_outputs, optional
        Names of the outputs.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ddibp import plots
    >>> ax = plots.weights([[1.0, -0.5]], column_names=["height", "age"], ax=Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['height', 'age']
    """
    posterior = _axes.as_posterior(W)
    values = np.asarray(W if posterior is None else posterior.map().W, dtype=np.float64)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError(f"W must be a finite matrix of features by outputs, got an array of shape {values.shape}.")
    K, M = values.shape
    names = _axes.check_names("column_names", column_names, M, "")
    ax = ax or _axes.new_axes()
    if values.size == 0:
        ax.text(0.5, 0.5, "empty", transform=ax.transAxes, ha="center", va="center")
    elif values.size <= _MOST_SQUARES:
        _squares(ax, values)
    else:
        size = np.abs(values).max()
        image = ax.imshow(values, cmap="cividis", vmin=-size, vmax=size, aspect="auto", interpolation="nearest")
        ax.figure.colorbar(image, ax=ax, label="weight")
    ax.set(xlabel="output", ylabel="feature", xlim=(-0.5, max(M, 1) - 0.5), ylim=(max(K, 1) - 0.5, -0.5))
    _axes.whole_ticks(ax.xaxis)
    _axes.whole_ticks(ax.yaxis)
    if column_names is not None and M <= _MOST_NAMES:
        upright = sum(map(len, names)) > 60
        ax.set_xticks(range(M), names, rotation=90 if upright else 0)
        ax.set_xlabel("")
    return ax


def _squares(ax: Axes, values: NDArray[np.float64]) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Patch, Rectangle

    largest = np.abs(values).max()
    for positive, face in ((True, _axes.DARK), (False, _axes.BRIGHT)):
        features, outputs = np.nonzero((values > 0) if positive else (values < 0))
        sides = 0.92 * np.sqrt(np.abs(values[features, outputs]) / largest)
        squares = [
            Rectangle((m - side / 2, k - side / 2), side, side)
            for k, m, side in zip(features, outputs, sides, strict=True)
        ]
        ax.add_collection(PatchCollection(squares, facecolor=face, edgecolor="black", linewidth=0.4))
    if largest:
        ax.legend(
            handles=[
                Patch(facecolor=_axes.DARK, edgecolor="black", label=f"positive, up to {max(values.max(), 0):.3g}"),
                Patch(facecolor=_axes.BRIGHT, edgecolor="black", label=f"negative, down to {min(values.min(), 0):.3g}"),
            ],
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=2,
            frameon=False,
            handlelength=1.0,
            handleheight=1.0,
        )
