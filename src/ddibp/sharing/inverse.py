r"""The inverse problem: distances, or a decay, whose limiting fractions of shared features come closest to wanted ones.

For sequential distances the fractions are a smooth function of the distances with a cheap exact gradient: with
:math:`S_{ij} = \sum_{m<i} a_{im} S_{mj}` the chain rule runs the recursion backwards.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddibp import _check
from ddibp.proximity import Decay, Proximity, as_decay
from ddibp.sharing.comparison import limiting_fraction

FloatArray = NDArray[np.float64]

_FLOOR = -20.0  # log f(d)/f(0) from which down a row counts as out of reach
_LARGEST_WITHOUT_ORDER = 10


@dataclass(frozen=True, eq=False)
class SharingFit:
    """What came out of fitting wanted fractions of shared features.

    Attributes
    ----------
    fractions : ndarray of shape (n_rows, n_rows)
        The limiting fractions that were reached.
    residual : float
        Root mean square difference from the wanted fractions, over the wanted off-diagonal entries.
    largest_error : float
        Largest absolute difference over the same entries.
    converged : bool
        Whether the optimiser reported convergence.
    distances : ndarray of shape (n_rows, n_rows) or None
        The fitted distances (`fit_distances`), infinite where no link is wanted.
    prior : prior or None
        The prior with the fitted decay (`fit_decay`).

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import Exponential, sharing
    >>> sharing.fit_distances([[np.nan, 0.3], [0.3, np.nan]], Exponential(1.0)).distances.round(3)
    array([[0.   ,   inf],
           [0.847, 0.   ]])
    """

    fractions: FloatArray
    residual: float
    largest_error: float
    converged: bool
    distances: FloatArray | None = None
    prior: Any = None


def fit_distances(target: ArrayLike, decay: Any, *, sequential: bool = True) -> SharingFit:
    """Find distances whose limiting fractions of shared features come closest to ``target``.

    Not every matrix of fractions can be had: two sequential rows share at most half of their features. The residual
    tells how close the result is; the search is local, from a start that fits the rows one by one.

    Parameters
    ----------
    target : array-like of shape (n_rows, n_rows)
        Wanted fractions in [0, 1]; NaN where any value will do. The diagonal is ignored.
    decay : Decay or callable
        A continuous decay, through which fitted proximities become distances.
    sequential : bool
        Rows link to earlier rows only. Otherwise distances are symmetric, and at most 10 rows are possible.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import DDIBP, Exponential, sharing
    >>> t = np.array([0.0, 1.0, 3.0])
    >>> wanted = sharing.limiting_fraction(DDIBP(Exponential(1.0), alpha=1.0, sequential=True), t)
    >>> fit = sharing.fit_distances(wanted, Exponential(1.0))
    >>> fit.residual < 1e-6
    True
    >>> fit.distances.round(3)
    array([[ 0., inf, inf],
           [ 1.,  0., inf],
           [ 3.,  2.,  0.]])
    """
    from scipy.optimize import minimize

    decay = as_decay(decay)
    wanted, weight = _wanted(target)
    n = len(wanted)
    log_f0 = float(decay.log(0.0))
    _require_continuous(decay, log_f0)
    free = np.tril_indices(n, -1)
    if sequential:
        start = _row_by_row(wanted, weight)[free]
        result = minimize(
            _sequential_objective,
            start,
            args=(wanted, weight, free),
            jac=True,
            method="L-BFGS-B",
            bounds=[(_FLOOR, 0.0)] * start.size,
            options={"maxiter": 2000, "maxfun": 4000, "ftol": 1e-15, "gtol": 1e-10},
        )
    else:
        if n > _LARGEST_WITHOUT_ORDER:
            raise ValueError(
                f"fit_distances without an order of rows handles at most {_LARGEST_WITHOUT_ORDER} rows, got {n}; "
                "use sequential=True, or fit_decay over given distances."
            )
        start = np.log(np.clip(wanted[free], 0.02, 0.9))
        result = minimize(
            lambda theta: _loss(_symmetric_fractions(theta, free, n), wanted, weight),
            np.where(np.isnan(start), -1.0, start),
            method="L-BFGS-B",
            bounds=[(_FLOOR, 0.0)] * start.size,
            options={"maxiter": 500, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9},
        )
    theta = np.where(result.x <= _FLOOR + 1e-6, -np.inf, result.x)
    distances = np.full((n, n), np.inf)
    np.fill_diagonal(distances, 0.0)
    distances[free] = [np.inf if x == -np.inf else decay.reach(float(np.exp(log_f0 + x))) for x in theta]
    if not sequential:
        distances = np.minimum(distances, distances.T)
    fractions = _sequential_fractions(theta, free, n)[0] if sequential else _symmetric_fractions(theta, free, n)
    return SharingFit(fractions, *_errors(fractions, wanted, weight), bool(result.success), distances=distances)


def fit_decay(target: ArrayLike, covariates: Any, prior: Any) -> SharingFit:
    """Find decay parameters whose limiting fractions of shared features come closest to ``target``.

    Parameters
    ----------
    target : array-like of shape (n_rows, n_rows)
        Wanted fractions in [0, 1]; NaN where any value will do. The diagonal is ignored.
    covariates : array-like
        As for the prior's methods.
    prior : DDIBP or DHBP
        Gives everything but the values of the decay's parameters, of which there must be one or two. The search covers
        four orders of magnitude on either side of the given (positive) values.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import DDIBP, Exponential, sharing
    >>> t = np.arange(6.0)
    >>> wanted = sharing.limiting_fraction(DDIBP(Exponential(0.3), alpha=1.0, sequential=True), t)
    >>> fit = sharing.fit_decay(wanted, t, DDIBP(Exponential(1.0), alpha=1.0, sequential=True))
    >>> round(fit.prior.decay.beta, 4)
    0.3
    """
    from scipy.optimize import minimize

    wanted, weight = _wanted(target)
    decay = getattr(prior, "decay", None)
    if not isinstance(decay, Decay):
        raise TypeError(f"prior must have a decay with parameters, such as DDIBP(Exponential(1.0)); got {prior!r}.")
    names = [k for k, value in decay.get_params().items() if isinstance(value, (int, float))]
    if not 1 <= len(names) <= 2:
        raise ValueError(f"prior.decay must have one or two numbers to fit, got {decay!r}.")
    given = np.array([_check.number(f"decay.{k}", getattr(decay, k), low=0.0, open_low=True) for k in names])

    def candidate(log_factors: Any) -> Any:
        values = given * np.exp(log_factors)
        return prior.set_params(**{f"decay__{k}": float(v) for k, v in zip(names, values, strict=True)})

    def loss(log_factors: Any) -> float:
        return _loss(np.asarray(limiting_fraction(candidate(log_factors), covariates)), wanted, weight)

    shape = np.asarray(limiting_fraction(prior, covariates)).shape
    if shape != wanted.shape:
        raise ValueError(f"target has shape {wanted.shape}, but the covariates describe {shape[0]} rows.")
    width = np.log(1e4)
    grid = np.linspace(-width, width, 41 if len(names) == 1 else 15)
    best = min(itertools.product(grid, repeat=len(names)), key=loss)
    step = grid[1] - grid[0]
    simplex = np.vstack([best, *(np.add(best, 0.5 * step * unit) for unit in np.eye(len(names)))])
    options = {"initial_simplex": simplex, "xatol": 1e-9, "fatol": 1e-18, "maxiter": 1000}
    result = minimize(loss, best, method="Nelder-Mead", options=options)
    fitted = candidate(result.x)
    fractions = np.asarray(limiting_fraction(fitted, covariates))
    return SharingFit(fractions, *_errors(fractions, wanted, weight), bool(result.success), prior=fitted)


def _wanted(target: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return (wanted fractions, weight 1 where an entry counts)."""
    wanted = np.array(target, dtype=np.float64)
    if wanted.ndim != 2 or wanted.shape[0] != wanted.shape[1] or len(wanted) < 2:
        raise ValueError(f"target must be a square matrix of at least two rows, got shape {wanted.shape}.")
    weight = ~np.isnan(wanted) & ~np.eye(len(wanted), dtype=bool)
    if not weight.any():
        raise ValueError("target must have at least one off-diagonal entry that is not NaN.")
    outside = weight & ~((wanted >= 0.0) & (wanted <= 1.0))
    if outside.any():
        i, j = np.argwhere(outside)[0]
        raise ValueError(f"target must hold fractions in [0, 1], got {wanted[i, j]} at ({i}, {j}).")
    return wanted, weight.astype(np.float64)


def _require_continuous(decay: Decay, log_f0: float) -> None:
    for share in (0.9, 0.5, 0.1):
        f = share * np.exp(log_f0)
        if not np.isclose(decay(decay.reach(f)), f, rtol=1e-3):
            raise ValueError(
                f"decay must fall continuously from f(0) to 0, so that proximities become distances; got {decay!r}."
            )


def _loss(fractions: FloatArray, wanted: FloatArray, weight: FloatArray) -> float:
    return float(np.sum(weight * (fractions - np.nan_to_num(wanted)) ** 2))


def _errors(fractions: FloatArray, wanted: FloatArray, weight: FloatArray) -> tuple[float, float]:
    errors = np.abs(fractions - wanted)[weight > 0]
    return float(np.sqrt(np.mean(errors**2))), float(errors.max())


def _sequential_fractions(theta: FloatArray, free: Any, n: int) -> tuple[FloatArray, FloatArray]:
    """Return (fractions, link weights) for log decays ``theta`` relative to that at distance 0."""
    relative = np.zeros((n, n))
    relative[free] = np.exp(theta)
    weights = relative / (1.0 + relative.sum(axis=1, keepdims=True))
    fractions = np.eye(n)
    for i in range(1, n):
        fractions[i, :i] = fractions[:i, i] = weights[i, :i] @ fractions[:i, :i]
    return fractions, weights


def _sequential_objective(
    theta: FloatArray, wanted: FloatArray, weight: FloatArray, free: Any
) -> tuple[float, FloatArray]:
    """Return the sum of squares and its gradient, by running the recursion backwards."""
    n = len(wanted)
    fractions, weights = _sequential_fractions(theta, free, n)
    sensitivity = 2.0 * weight * (fractions - np.nan_to_num(wanted))
    sensitivity = sensitivity + sensitivity.T
    by_weight = np.zeros((n, n))
    for i in range(n - 1, 0, -1):
        own = sensitivity[i, :i]
        by_weight[i, :i] = fractions[:i, :i] @ own
        earlier = np.outer(weights[i, :i], own)
        sensitivity[:i, :i] += earlier + earlier.T
    centred = by_weight - (by_weight * weights).sum(axis=1, keepdims=True)
    return _loss(fractions, wanted, weight), (centred * weights)[free]


def _row_by_row(wanted: FloatArray, weight: FloatArray) -> FloatArray:
    """Return starting log relative decays: every row's best weights given the rows before it."""
    from scipy.optimize import nnls

    n = len(wanted)
    theta = np.full((n, n), -1.0)
    fractions = np.eye(n)
    for i in range(1, n):
        counts = weight[i, :i] + weight[:i, i]
        both = np.nan_to_num(wanted[i, :i]) * weight[i, :i] + np.nan_to_num(wanted[:i, i]) * weight[:i, i]
        known = counts > 0
        weights = np.full(i, 0.5 / i)
        if known.any():
            weights = nnls(fractions[:i, :i][known], (both[known] / counts[known]))[0]
        weights = np.clip(weights, 1e-9, None)
        weights *= min(1.0, (1.0 - 1.0 / (i + 1)) / weights.sum())
        own = 1.0 - weights.sum()
        theta[i, :i] = np.clip(np.log(weights / own), _FLOOR, 0.0)
        relative = np.exp(theta[i, :i])
        fractions[i, :i] = fractions[:i, i] = relative / (1.0 + relative.sum()) @ fractions[:i, :i]
    return theta


def _symmetric_fractions(theta: FloatArray, free: Any, n: int) -> FloatArray:
    """Return exact fractions for symmetric log relative decays."""
    from ddibp.priors import DDIBP
    from ddibp.proximity import Exponential

    distances = np.zeros((n, n))
    distances[free] = -theta
    proximity = Proximity.from_distances(distances + distances.T, Exponential(1.0))
    return limiting_fraction(DDIBP(), proximity, method="enumeration").values
