"""Decays, and what a posterior says of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddibp import _check
from ddibp.plots import _axes
from ddibp.plots._falling import falling, name_of
from ddibp.proximity import as_decay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ddibp.sampling import Posterior

FloatArray = NDArray[np.float64]

_MOST_CURVES = 500


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
    return _draw(as_decay(decay), max_distance, ax)


def _draw(f: Any, max_distance: float | None, ax: Axes | None) -> Axes:
    max_distance = _check_distance(max_distance, f)
    d = _grid(f, max_distance)
    ax = ax or _axes.new_axes()
    ax.plot(d, f(d), color=_axes.DARK, lw=2.0)
    _label(ax, f, max_distance)
    return ax


def decay_posterior(
    posterior: Any, *, max_distance: float | None = None, probability: float = 0.9, ax: Axes | None = None
) -> Axes:
    """Draw what the posterior knows of the decay: median, a central band, some draws, and the curve assumed at first.

    Of a dIBP, which has no decay, that is the correlation of the Gaussian values of two rows against their distance.

    Parameters
    ----------
    posterior : Posterior
        One whose prior has a decay, or a kernel by name. If no parameter was learned, the curve is drawn as it is.
    max_distance : float, optional
        Where the curves end; by default a little beyond where the decay of median parameters has fallen to 0.01.
    probability : float, optional
        That of the band, at each distance.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from ddibp import DDIBP, Exponential, Gamma, LinearGaussian, plots, sample_posterior
    >>> t = np.arange(6.0)
    >>> prior = DDIBP(Exponential(Gamma(2.0, 4.0)), sequential=True)
    >>> posterior = sample_posterior(prior, LinearGaussian(0.5, 1.0), t[:, None], covariates=t, draws=20, tune=0)
    >>> ax = plots.decay_posterior(posterior, ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['posterior median', '90 % band', 'draws', 'at the prior mean']
    """
    posterior = _axes.require_posterior(posterior)
    probability = _check.number("probability", probability, low=0.0, high=1.0)
    f = falling(posterior.prior)
    if f is None:
        raise ValueError(f"posterior must be of a prior with a decay or a named kernel; {posterior.prior!r} has none.")
    if not getattr(f, "learned", {}):
        return _draw(f if name_of(f) == "correlation" else as_decay(f), max_distance, ax)
    found = curves(posterior, max_distance, probability)
    d = found.distances

    ax = ax or _axes.new_axes()
    band = ax.fill_between(
        d, found.low, found.high, color=_axes.DARK, alpha=0.2, lw=0.0, label=f"{100 * probability:g} % band"
    )
    some = ax.plot(d, found.some.T, color=_axes.DARK, lw=0.6, alpha=0.4)
    some[0].set_label("draws")
    (line,) = ax.plot(d, found.median, color=_axes.DARK, lw=2.2, label="posterior median")
    (assumed,) = ax.plot(d, found.assumed, color="black", lw=1.2, ls="--", label="at the prior mean")
    _label(ax, f, float(d[-1]))
    ax.legend(handles=[line, band, some[0], assumed], frameon=False)
    return ax


class Curves(NamedTuple):
    """Curves of draws at some distances: quantiles, a few of them, and the curve at the mean of the priors."""

    distances: FloatArray
    low: FloatArray
    median: FloatArray
    high: FloatArray
    some: FloatArray
    assumed: FloatArray


def curves(posterior: Posterior, max_distance: float | None, probability: float) -> Curves:
    """Return what draws say of a decay, or a correlation, with learned parameters."""
    f = falling(posterior.prior)
    draws = {name: posterior.data["posterior"][name].to_numpy().ravel() for name in f.learned}
    n_draws = len(next(iter(draws.values())))
    medians = f.set_params(**{name: float(np.median(x)) for name, x in draws.items()})
    d = np.linspace(0.0, _check_distance(max_distance, medians), 301)
    chosen = np.unique(np.linspace(0, n_draws - 1, min(n_draws, _MOST_CURVES)).astype(int))
    drawn = np.array([f.set_params(**{name: float(x[i]) for name, x in draws.items()})(d) for i in chosen])
    low, median, high = np.quantile(drawn, [(1 - probability) / 2, 0.5, (1 + probability) / 2], axis=0)
    assumed = f.set_params(**{name: prior.mean for name, prior in f.learned.items()})(d)
    return Curves(d, low, median, high, drawn[:: max(len(drawn) // 15, 1)][:15], assumed)


def _check_distance(max_distance: float | None, f: Any) -> float:
    if max_distance is None:
        reach = f.reach(0.01)
        max_distance = 1.25 * reach if 0.0 < reach < math.inf else 10.0
    return _check.number("max_distance", max_distance, low=0.0, open_low=True)


def _grid(f: Any, max_distance: float) -> FloatArray:
    d = np.linspace(0.0, max_distance, 501)
    edge = f.reach(0.0)
    if edge < max_distance:
        d = np.sort(np.append(d, [np.nextafter(edge, 0.0), edge]))  # so that a jump is drawn upright
    return d


def _label(ax: Axes, f: Any, max_distance: float) -> None:
    said = "correlation" if name_of(f) == "correlation" else "decay $f(d)$"
    ax.set(xlabel="distance $d$", ylabel=said, xlim=(0.0, max_distance), ylim=(0.0, 1.05))
