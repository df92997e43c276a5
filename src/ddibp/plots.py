"""Pictures of feature matrices, of sharing and of decays; every function draws into an Axes and returns it.

Without ``ax`` a new pyplot figure is made, as notebooks and ``plt.show()`` expect.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddibp import _check
from ddibp.proximity import as_decay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DARK = "#1f4e79"
_BRIGHT = "#ffb000"  # stands out against dark and white, in grey and to the colour-blind alike
_MOST_PIXELS = 1000


def feature_matrix(Z: Any, *, owners: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Draw a binary feature matrix, rows down and features across; active entries are dark.

    Parameters
    ----------
    Z : array-like of shape (n_rows, n_features)
        The matrix. Where it has more than 1000 rows or features, neighbouring ones share a pixel, whose shade is the
        fraction of active entries.
    owners : array-like of int, shape (n_features,), optional
        The row that owns each feature, drawn as a star.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from ddibp import DDIBP, Exponential, plots
    >>> draw = DDIBP(Exponential(0.1), alpha=2.0, sequential=True).sample(np.arange(50.0), rng=0, return_causes=True)
    >>> ax = plots.feature_matrix(draw.Z, owners=draw.owners, ax=Figure().add_subplot())
    >>> ax.get_xlabel(), ax.get_ylabel(), ax.images[0].get_array().shape == draw.Z.shape
    ('feature', 'row', True)
    """
    from matplotlib.colors import LinearSegmentedColormap

    Z = _check.binary_matrix("Z", Z)
    n, K = Z.shape
    owner_rows = None if owners is None else _check_owners(owners, n, K)
    ax = ax or _new_axes()
    if Z.size:
        ax.imshow(
            _thin(_thin(Z, 0), 1),
            cmap=LinearSegmentedColormap.from_list("activity", ["white", _DARK]),
            vmin=0.0,
            vmax=1.0,
            aspect="auto",
            interpolation="nearest",
            extent=(-0.5, K - 0.5, n - 0.5, -0.5),
        )
    else:
        ax.text(0.5, 0.5, "empty", transform=ax.transAxes, ha="center", va="center")
    if owner_rows is not None and K:
        width = ax.get_window_extent().width * 72.0 / ax.figure.dpi / K
        size = min(max(0.9 * width, 1.5), 9.0)
        ax.plot(np.arange(K), owner_rows, "*", color=_BRIGHT, mec="black", mew=size / 20.0, ms=size, label="owner")
    ax.set(xlabel="feature", ylabel="row", xlim=(-0.5, max(K, 1) - 0.5), ylim=(max(n, 1) - 0.5, -0.5))
    _whole_ticks(ax)
    return ax


def sharing_matrix(S: Any, *, ax: Axes | None = None, label: str = "expected shared features") -> Axes:
    r"""Draw a matrix over pairs of rows, such as :math:`E[R_{ij}]`, as a heat map with a colour bar from 0.

    Parameters
    ----------
    S : array-like of shape (n_rows, n_rows)
        The matrix, for example from `ddibp.sharing.expected`.
    ax : matplotlib.axes.Axes, optional
        Where to draw.
    label : str
        Label of the colour bar.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ddibp import IBP, plots
    >>> ax = plots.sharing_matrix(IBP(2.0).expected_sharing(5), ax=Figure().add_subplot())
    >>> ax.images[0].get_clim()
    (0.0, 2.0)
    """
    values = np.asarray(S, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise ValueError(f"S must be a square matrix, rows by rows, got an array of shape {values.shape}.")
    ax = ax or _new_axes()
    image = ax.imshow(values, cmap="cividis", vmin=min(0.0, values.min()), interpolation="nearest")
    ax.set(xlabel="row", ylabel="row")
    _whole_ticks(ax)
    ax.figure.colorbar(image, ax=ax, label=label)
    return ax


def decay(decay: Any, *, max_distance: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw a decay against distance.

    Parameters
    ----------
    decay : Decay or callable
        The decay.
    max_distance : float, optional
        Where the curve ends; by default a little beyond where the decay has fallen to 0.01, or 10 if it never does.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ddibp import Window, plots
    >>> ax = plots.decay(Window(2.0), ax=Figure().add_subplot())
    >>> print(ax.get_xlim()[1])
    2.5
    """
    f = as_decay(decay)
    if max_distance is None:
        reach = f.reach(0.01)
        max_distance = 1.25 * reach if 0.0 < reach < math.inf else 10.0
    max_distance = _check.number("max_distance", max_distance, low=0.0, open_low=True)
    d = np.linspace(0.0, max_distance, 501)
    edge = f.reach(0.0)
    if edge < max_distance:
        d = np.sort(np.append(d, [np.nextafter(edge, 0.0), edge]))  # so that a jump is drawn upright
    ax = ax or _new_axes()
    ax.plot(d, f(d), color=_DARK, lw=2.0)
    ax.set(xlabel="distance $d$", ylabel="decay $f(d)$", xlim=(0.0, max_distance), ylim=(0.0, 1.05))
    return ax


def _new_axes() -> Axes:
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _whole_ticks(ax: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _thin(values: NDArray[Any], axis: int) -> NDArray[np.float64]:
    """Average runs of neighbours so that at most `_MOST_PIXELS` remain."""
    length = values.shape[axis]
    edges = np.linspace(0, length, min(length, _MOST_PIXELS) + 1).astype(np.int64)
    sizes = np.diff(edges).reshape((-1, 1) if axis == 0 else (1, -1))
    return np.asarray(np.add.reduceat(values, edges[:-1], axis=axis, dtype=np.float64) / sizes)


def _check_owners(owners: ArrayLike, n: int, K: int) -> NDArray[np.int64]:
    rows = np.asarray(owners)
    if rows.shape != (K,) or (K and rows.dtype.kind not in "iu"):
        raise ValueError(
            f"owners must hold one row number per feature, {K} in all, got shape {rows.shape} of {rows.dtype}."
        )
    if K and not (rows.min() >= 0 and rows.max() < n):
        raise ValueError(f"owners must be rows from 0 to {n - 1}, got {rows.min()} to {rows.max()}.")
    return rows.astype(np.int64)
