"""Where along the covariate features are active, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddibp import _check, summaries
from ddibp.plots import _axes, _order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ddibp.sampling import Posterior

FloatArray = NDArray[np.float64]

_LANE = 0.85
_MOST_FEATURES = 30


class Bands(NamedTuple):
    """Probabilities that rows have the features of the best draw: over all draws, and the range over chains."""

    reference: NDArray[np.bool_]
    probabilities: FloatArray
    low: FloatArray
    high: FloatArray
    presence: FloatArray
    overlap: FloatArray


def bands(posterior: Posterior) -> Bands:
    """Look for the features of the best draw in every chain; see `ddibp.summaries.feature_probabilities`."""
    reference = posterior.map().Z
    found, counts = [], []
    for chain in range(posterior.n_chains):
        drawn = _Counted(posterior.draws(chain))
        found.append(summaries.feature_probabilities(reference, drawn))
        counts.append(drawn.count)
    by_chain = np.array([f.probabilities for f in found])
    presences = np.array([f.presence for f in found])
    shares = np.array(counts) / sum(counts)
    present = shares[:, None] * presences
    overlaps = np.nan_to_num(np.array([f.overlap for f in found]))
    total = present.sum(axis=0)
    return Bands(
        reference,
        np.tensordot(shares, by_chain, 1),
        by_chain.min(axis=0),
        by_chain.max(axis=0),
        total,
        np.divide((present * overlaps).sum(axis=0), total, out=np.full(total.shape, np.nan), where=total > 0),
    )


class _Counted:
    def __init__(self, draws: Iterable[NDArray[np.bool_]]) -> None:
        self._draws = draws
        self.count = 0

    def __iter__(self) -> Iterator[NDArray[np.bool_]]:
        for Z in self._draws:
            self.count += 1
            yield Z


def activations(
    probabilities: Any,
    *,
    covariates: ArrayLike | None = None,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    features: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the probability that rows have features against the covariate, one lane per feature, by onset.

    Every lane goes from 0 to 1. Rows of one value of the covariate are averaged.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows, n_features), or Posterior
        Probabilities. Of a posterior, those of the features of its best draw in all draws, with the range over its
        chains as a band.
    covariates : array-like of shape (n_rows,), optional
        What to draw along; by default the covariate of the posterior if it has a single one, and row numbers else.
    low, high : array-like of shape (n_rows, n_features), optional
        Ends of a band.
    features : array-like of int, optional
        Which features to draw; by default the 30 with most active rows.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from ddibp import plots
    >>> t = np.arange(10.0)
    >>> P = np.column_stack([t / 10.0, 1.0 * (t < 5)])
    >>> ax = plots.activations(P, covariates=t, ax=Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['1', '0']
    """
    posterior = _axes.as_posterior(probabilities)
    if posterior is not None:
        found = bands(posterior)
        probabilities = found.probabilities
        if posterior.n_chains > 1 and low is None and high is None:
            low, high = found.low, found.high
        covariates = _order.own_covariate(posterior) if covariates is None else covariates
    P = _check_probabilities("probabilities", probabilities, None)
    n = len(P)
    if (low is None) != (high is None):
        raise ValueError("low and high must be given together, got only one of them.")
    ends = [_check_probabilities(name, x, P.shape) for name, x in (("low", low), ("high", high)) if x is not None]
    t = np.arange(n, dtype=np.float64) if covariates is None else _order.check_covariate(covariates, n)
    chosen = _check_features(features, P)
    lanes = chosen[_order.by_onset(P[np.argsort(t, kind="stable")][:, chosen] >= 0.5)]

    ax = ax or _axes.new_axes()
    for place, k in enumerate(lanes):
        points, curve = _order.mean_by_covariate(t, P[:, k])
        ax.fill_between(points, place, place - _LANE * curve, step="mid", color=_axes.DARK, alpha=0.25, lw=0.0)
        if ends:
            bottom, top = (_order.mean_by_covariate(t, end[:, k])[1] for end in ends)
            edges = place - _LANE * bottom, place - _LANE * top
            ax.fill_between(points, *edges, step="mid", color=_axes.BRIGHT, alpha=0.6, lw=0.0)
        ax.plot(points, place - _LANE * curve, drawstyle="steps-mid", color=_axes.DARK, lw=1.3)
    ax.set_yticks(range(len(lanes)), [str(k) for k in lanes])
    ax.set(xlabel="row" if covariates is None else "covariate", ylabel="feature, by onset")
    ax.set_ylim(max(len(lanes), 1) - 0.7, -1.0)
    ax.grid(axis="y", color="0.85", lw=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.margins(x=0.0)
    return ax


def _check_probabilities(name: str, value: Any, shape: tuple[int, ...] | None) -> FloatArray:
    P = np.asarray(value, dtype=np.float64)
    if P.ndim != 2 or (shape is not None and P.shape != shape):
        raise ValueError(f"{name} must be a matrix of rows by features{f', {shape}' if shape else ''}, got {P.shape}.")
    if not ((P >= 0.0) & (P <= 1.0)).all():
        raise ValueError(f"{name} must lie between 0 and 1, got {P[~((P >= 0.0) & (P <= 1.0))][0]:g}.")
    return P


def _check_features(features: ArrayLike | None, P: FloatArray) -> NDArray[np.intp]:
    K = P.shape[1]
    if features is None:
        return np.sort(np.argsort(-P.sum(axis=0), kind="stable")[:_MOST_FEATURES])
    chosen = [_check.count("features", k) for k in np.atleast_1d(np.asarray(features)).tolist()]
    if chosen and max(chosen) >= K:
        raise ValueError(f"features must be from 0 to {K - 1}, got {max(chosen)}.")
    return np.array(chosen, dtype=np.intp)
