"""Chains: their paths, their ranks, and the law of the number of features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ddibp import _check, summaries
from ddibp.plots import _axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]


def trace(draws: Any, name: str = "log_joint", *, ax: Axes | None = None) -> Axes:
    """Draw a number of every draw, one line per chain.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws), or Posterior
        The numbers, or a posterior that has them.
    name : str, optional
        Which number of the posterior, such as ``"alpha"`` or ``"n_features"``; label of the axis.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from ddibp import plots
    >>> ax = plots.trace(np.random.default_rng(0).normal(size=(2, 100)), "x", ax=Figure().add_subplot())
    >>> len(ax.lines), ax.get_ylabel()
    (2, 'x')
    """
    x = _numbers(draws, name)
    ax = ax or _axes.new_axes()
    for chain, numbers in enumerate(x):
        ax.plot(numbers, lw=0.9, alpha=0.85, **_axes.chain_style(chain) | {"linestyle": "-"})
    ax.set(xlabel="draw", ylabel=name)
    ax.margins(x=0.0)
    _axes.whole_ticks(ax.xaxis)
    _axes.open_frame(ax)
    _legend(ax, len(x))
    return ax


def rank(draws: Any, name: str = "log_joint", *, bins: int = 20, ax: Axes | None = None) -> Axes:
    """Draw how often each chain has low, middle and high ranks among all draws; good chains are level and alike.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws), or Posterior
        The numbers, or a posterior that has them. Equal numbers are ranked in random order.
    name : str, optional
        Which number of the posterior.
    bins : int, optional
        Number of steps.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from ddibp import plots
    >>> ax = plots.rank(np.random.default_rng(0).normal(size=(2, 100)), "x", bins=10, ax=Figure().add_subplot())
    >>> ax.get_xlabel()
    'rank of x'
    """
    x = _numbers(draws, name)
    bins = min(_check.count("bins", bins, low=1), x.shape[1])
    ties = np.random.default_rng(0).random(x.size)
    ranks = np.empty(x.size)
    ranks[np.lexsort((ties, x.ravel()))] = np.arange(x.size)
    edges = np.linspace(0, x.size, bins + 1)
    ax = ax or _axes.new_axes()
    for chain, own in enumerate(ranks.reshape(x.shape)):
        ax.stairs(np.histogram(own + 0.5, edges)[0], edges, baseline=None, lw=1.6, **_axes.chain_style(chain))
    expected = x.shape[1] / bins
    ax.axhline(expected, color=_axes.GREY, lw=1.0)
    ax.set(xlabel=f"rank of {name}", ylabel="draws", xlim=(0, x.size))
    ax.set_ylim(0.0, max(1.1 * ax.get_ylim()[1], 2.0 * expected))
    _axes.open_frame(ax)
    _legend(ax, len(x))
    return ax


def features_law(n_features: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the probability of each number of features: bars over all draws, a mark for each chain.

    Parameters
    ----------
    n_features : array-like of int, shape (n_chains, n_draws) or (n_draws,), or Posterior
        Number of features of each draw, or a posterior that has them.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ddibp import plots
    >>> ax = plots.features_law([[2, 3], [3, 3]], ax=Figure().add_subplot())
    >>> [float(bar.get_height()) for bar in ax.patches]
    [0.25, 0.75]
    """
    posterior = _axes.as_posterior(n_features)
    K = np.atleast_2d(np.asarray(n_features if posterior is None else posterior.n_features))
    if K.ndim != 2 or not K.size or (K < 0).any() or (np.round(K) != K).any():
        raise ValueError(f"n_features must be whole numbers of shape (n_chains, n_draws), got shape {K.shape}.")
    law = summaries.features_law(K)
    values = np.arange(min(law), max(law) + 1)
    ax = ax or _axes.new_axes()
    ax.bar(values, [law.get(int(k), 0.0) for k in values], color="#a9c4de", edgecolor=_axes.DARK, width=0.8)
    marks = ("o", "s", "^", "D", "v", "P", "X")
    for chain, own in enumerate(K if len(K) > 1 else []):
        chain_law = summaries.features_law(own)
        style = _axes.chain_style(chain) | {"linestyle": "none"}
        places = values + 0.5 * ((chain + 0.5) / len(K) - 0.5)
        ax.plot(places, [chain_law.get(int(k), 0.0) for k in values], marks[chain % len(marks)], ms=4.0, **style)
    ax.set(xlabel="number of features", ylabel="posterior probability")
    ax.set_ylim(bottom=0.0)
    _axes.whole_ticks(ax.xaxis)
    _axes.open_frame(ax)
    _legend(ax, len(K))
    return ax


def _numbers(draws: Any, name: str) -> FloatArray:
    posterior = _axes.as_posterior(draws)
    if posterior is not None:
        known = posterior.data["posterior"]
        if name not in known:
            raise ValueError(f"name must be one of {', '.join(map(str, known.data_vars))}; got {name!r}.")
        draws = known[name].to_numpy()
    x = np.asarray(draws, dtype=np.float64)
    if x.ndim != 2 or not x.size:
        raise ValueError(f"draws must have the shape (n_chains, n_draws), got {x.shape}.")
    return x


def _legend(ax: Axes, n_chains: int) -> None:
    if 1 < n_chains <= 8:
        ax.legend(frameon=False, ncols=min(n_chains, 4), loc="lower center", bbox_to_anchor=(0.5, 1.0))
