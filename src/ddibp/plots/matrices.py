"""Matrices over rows: features, and what rows share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddibp import _check
from ddibp.plots import _axes, _order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PIXELS = 1000
_MOST_PARTED = 60


def feature_matrix(
    Z: Any, *, owners: ArrayLike | None = None, covariates: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a binary feature matrix, rows down and features across; active entries are dark.

    Parameters
    ----------
    Z : array-like of shape (n_rows, n_features), or Posterior
        The matrix; of a posterior, that of its best draw, along the covariate if there is a single one. Where it has
        more than 1000 rows or features, neighbouring ones share a pixel, whose shade is the fraction of active entries.
    owners : array-like of int, shape (n_features,), optional
        The row that owns each feature, drawn as a star.
    covariates : array-like of shape (n_rows,), optional
        Rows are drawn in the order of this number, and features in the order of their first row.
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

    posterior = _axes.as_posterior(Z)
    if posterior is not None:
        covariates = _order.own_covariate(posterior) if covariates is None else covariates
    Z = _check.binary_matrix("Z", Z if posterior is None else posterior.map().Z)
    n, K = Z.shape
    owner_rows = None if owners is None else _check_owners(owners, n, K)
    t = None if covariates is None else _order.check_covariate(covariates, n)
    if t is not None:
        rows = np.argsort(t, kind="stable")
        features = _order.by_onset(Z[rows])
        Z = Z[np.ix_(rows, features)]
        owner_rows = None if owner_rows is None else np.argsort(rows)[owner_rows[features]]
    ax = ax or _axes.new_axes()
    if Z.size:
        ax.imshow(
            _thin(_thin(Z, 0), 1),
            cmap=LinearSegmentedColormap.from_list("activity", ["white", _axes.DARK]),
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
        ax.plot(np.arange(K), owner_rows, "*", color=_axes.BRIGHT, mec="black", mew=size / 20.0, ms=size, label="owner")
    ax.set(xlabel="feature", ylabel="row", xlim=(-0.5, max(K, 1) - 0.5), ylim=(max(n, 1) - 0.5, -0.5))
    _axes.whole_ticks(ax.xaxis)
    _axes.whole_ticks(ax.yaxis)
    if K <= _MOST_PARTED:
        ax.set_xticks(np.arange(K + 1) - 0.5, minor=True)
        ax.grid(axis="x", which="minor", color="white", lw=1.5)
        ax.tick_params(axis="x", which="minor", length=0)
    if t is not None:
        ax.set(xlabel="feature, by onset", ylabel="covariate")
        _name_places(ax.yaxis, np.sort(t))
        _name_places(ax.xaxis, features)
    return ax


def sharing_matrix(
    S: Any, *, covariates: ArrayLike | None = None, ax: Axes | None = None, label: str = "expected shared features"
) -> Axes:
    r"""Draw a matrix over pairs of rows, such as :math:`E[R_{ij}]`, as a heat map with a colour bar from 0.

    Parameters
    ----------
    S : array-like of shape (n_rows, n_rows), or Posterior
        The matrix, for example from `ddibp.sharing.expected`; of a posterior, :math:`E[ZZ^T]`, along the covariate
        if there is a single one.
    covariates : array-like of shape (n_rows,), optional
        Rows are drawn in the order of this number.
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
    posterior = _axes.as_posterior(S)
    if posterior is not None:
        covariates = _order.own_covariate(posterior) if covariates is None else covariates
        S = posterior.sharing()
    values = np.asarray(S, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise ValueError(f"S must be a square matrix, rows by rows, got an array of shape {values.shape}.")
    t = None if covariates is None else _order.check_covariate(covariates, len(values))
    if t is not None:
        rows = np.argsort(t, kind="stable")
        values = values[np.ix_(rows, rows)]
    ax = ax or _axes.new_axes()
    image = ax.imshow(values, cmap="cividis", vmin=min(0.0, values.min()), interpolation="nearest")
    ax.set(xlabel="row", ylabel="row")
    for axis in (ax.xaxis, ax.yaxis):
        _axes.whole_ticks(axis)
        if t is not None:
            axis.set_label_text("covariate")
            _name_places(axis, np.sort(t))
    ax.figure.colorbar(image, ax=ax, label=label)
    return ax


def _name_places(axis: Any, values: NDArray[Any]) -> None:
    """Write what stands at a place where the number of the place would be."""

    def name(place: float, _: Any) -> str:
        nearest = round(place)
        return f"{values[nearest]:.6g}" if 0 <= nearest < len(values) else ""

    axis.set_major_formatter(name)


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
