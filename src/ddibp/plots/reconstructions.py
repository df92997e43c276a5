"""Data and what the features make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddibp import _check
from ddibp.plots import _axes, _order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]


def reconstruction(
    posterior: Any,
    output: int = 0,
    *,
    covariates: ArrayLike | None = None,
    name: str | None = None,
    probability: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw one output against the covariate: data, the reconstruction with its sd, and imputed entries.

    Parameters
    ----------
    posterior : Posterior
        What was fitted.
    output : int, optional
        Which column of the data.
    covariates : array-like of shape (n_rows,), optional
        What to draw along; by default the covariate of the posterior if it has a single one, and row numbers else.
    name : str, optional
        Name of the column.
    probability : float, optional
        That of the intervals of imputed entries.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from ddibp import IBP, LinearGaussian, plots, sample_posterior
    >>> X = np.array([[2.0], [2.1], [np.nan], [0.1]])
    >>> posterior = sample_posterior(IBP(1.0), LinearGaussian(), X, draws=50, tune=0, chains=1)
    >>> ax = plots.reconstruction(posterior, ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['observed', 'reconstruction', '± 2 sd', 'imputed, with 90 % interval']
    """
    posterior = _axes.require_posterior(posterior)
    n, M = posterior.observed.shape
    output = _check.count("output", output)
    if output >= M:
        raise ValueError(f"output must be from 0 to {M - 1}, got {output}.")
    if covariates is None:
        covariates = _order.own_covariate(posterior)
    t = np.arange(n, dtype=np.float64) if covariates is None else _order.check_covariate(covariates, n)
    mean, sd = (values[:, output] for values in posterior.reconstruction())
    observed = posterior.observed[:, output]
    holes = posterior.missing[:, output]

    ax = ax or _axes.new_axes()
    points, line = _order.mean_by_covariate(t, mean)
    spread = _order.mean_by_covariate(t, sd)[1]
    band = ax.fill_between(points, line - 2 * spread, line + 2 * spread, color=_axes.DARK, alpha=0.2, lw=0.0)
    (curve,) = ax.plot(points, line, color=_axes.DARK, lw=1.6)
    (dots,) = ax.plot(t[~holes], observed[~holes], "o", color="black", ms=3.5, mfc="0.45", mew=0.5)
    shown: dict[str, Any] = {"observed": dots, "reconstruction": curve, "± 2 sd": band}
    if holes.any():
        imputed = posterior.imputations(probability)
        own = imputed.columns == output
        middle, low, high = imputed.mean[own], imputed.low[own], imputed.high[own]
        shown[f"imputed, with {100 * probability:g} % interval"] = ax.errorbar(
            t[imputed.rows[own]],
            middle,
            _lengths(middle, low, high),
            fmt="D",
            color="black",
            mfc=_axes.BRIGHT,
            ms=5.0,
            mew=0.8,
            elinewidth=1.0,
        )
    ax.set(xlabel="row" if covariates is None else "covariate", ylabel=name or f"output {output}")
    ax.margins(x=0.02)
    _axes.open_frame(ax)
    ax.legend(list(shown.values()), list(shown), frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def held_out(
    truth: Any,
    predicted: Any,
    *,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    probability: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw predictions against what was held out, with intervals; the legend says how many of them hold the truth.

    Parameters
    ----------
    truth : array-like
        The values held out. With a posterior: the whole table of shape (n_rows, n_outputs), of which the entries that
        the posterior was not given are looked at, as far as they are not NaN.
    predicted : array-like of the shape of truth, or Posterior
        Predictions; of a posterior, its imputations.
    low, high : array-like of the shape of truth, optional
        Ends of intervals around predictions; a posterior has its own.
    probability : float, optional
        That of the intervals.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ddibp import plots
    >>> ax = plots.held_out([1.0, 2.0], [1.1, 2.5], low=[0.8, 2.2], high=[1.4, 2.8], ax=Figure().add_subplot())
    >>> ax.get_legend().get_texts()[0].get_text()
    '90 % intervals: 50 % of 2 hold the truth'
    """
    probability = _check.number("probability", probability, low=0.0, high=1.0)
    values = np.asarray(truth, dtype=np.float64)
    posterior = _axes.as_posterior(predicted)
    if posterior is not None:
        if values.shape != posterior.observed.shape:
            raise ValueError(f"truth must be the whole table, {posterior.observed.shape}, got shape {values.shape}.")
        imputed = posterior.imputations(probability)
        values = values[imputed.rows, imputed.columns]
        mean, low, high = imputed.mean, imputed.low, imputed.high
    else:
        mean = np.asarray(predicted, dtype=np.float64)
        if mean.shape != values.shape:
            raise ValueError(f"predicted must have the shape of truth, {values.shape}, got {mean.shape}.")
    if (low is None) != (high is None):
        raise ValueError("low and high must be given together, got only one of them.")
    known = np.isfinite(values)
    if not known.any():
        raise ValueError("truth must have a value for at least one entry that was held out, got none.")
    x, y = values[known], mean[known]
    error = float(np.sqrt(np.mean((y - x) ** 2)))

    ax = ax or _axes.new_axes()
    label = f"predictions, root mean square error {error:.3g}"
    if low is None or high is None:
        ax.plot(x, y, "o", color=_axes.DARK, ms=4.0, alpha=0.8, label=label)
    else:
        bottom, top = np.asarray(low, float)[known], np.asarray(high, float)[known]
        inside = (bottom <= x) & (x <= top)
        said = f"{100 * probability:g} % intervals: {100 * inside.mean():.0f} % of {x.size} hold the truth"
        ax.vlines(x[inside], bottom[inside], top[inside], color=_axes.DARK, lw=0.9, alpha=0.45, label=said)
        ax.vlines(x[~inside], bottom[~inside], top[~inside], color="#d55e00", lw=1.4, ls="--", label="miss it")
        ax.plot(x[inside], y[inside], "o", color=_axes.DARK, ms=3.5, label=label)
        ax.plot(x[~inside], y[~inside], "X", color="#d55e00", mec="black", mew=0.5, ms=6.0)
    ends = [min(x.min(), y.min()), max(x.max(), y.max())]
    ax.plot(ends, ends, color="black", lw=1.0, ls=":", zorder=0)
    ax.set(xlabel="held out", ylabel="predicted")
    _axes.open_frame(ax)
    ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def _lengths(middle: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the two arms of error bars; a mean may lie outside a narrow central interval."""
    return np.maximum([middle - low, high - middle], 0.0)
