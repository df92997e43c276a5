r"""Rates of columns of correlated Gaussian rows: integrals over orthants, by quasi Monte Carlo with standard errors.

With :math:`\tau = \Phi^{-1}(b)`, signs :math:`\sigma_j = 1` in active and :math:`-1` in inactive rows, and C = LL', the
rate of a column at mass 1 is

.. math:: \rho = \int \frac{\phi(\tau)}{\Phi(\tau)}\, P\bigl(\sigma_j (\tau - h_j) > 0 \text{ for all } j\bigr)\, d\tau.

Rows are drawn one after the other from truncated normals (Geweke, Hajivassiliou, Keane), whose means are moved by
:math:`\mu_j`, as in Botev (2017). These and the best :math:`\tau` are the saddle point of the log weight, and
:math:`\tau` follows a Student law around it. Every weight is positive and the mean of the weights is the rate, whatever
the tilting.

References
----------
Botev (2017), The normal law under linear restrictions: simulation and estimation via minimax tilting, Journal of the
Royal Statistical Society B 79.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddibp.priors._probit import Field, mills, shared_part

FloatArray = NDArray[np.float64]

SHIFTS = 8  # independent random shifts of the points, from which the standard error comes
_NUGGET = 1e-8  # variance that every row gets for itself, so that none is wholly determined by others
_TAIL = 5.0  # degrees of freedom of the law of the threshold: heavier tails than the integrand has
_TINY = 1e-15


class Estimate(NamedTuple):
    """Numbers with their standard errors, 0 where they are exact."""

    value: FloatArray
    error: FloatArray


def log_unit_rates(field: Field, Z: NDArray[np.bool_], n_points: int, rng: np.random.Generator) -> Estimate:
    r"""Return :math:`\log \rho_z` at mass 1 for every column, with standard errors; equal columns are estimated once.

    Exact for one and for two distinct rows, for independent rows, and for what is impossible: empty columns and columns
    in which copies differ.
    """
    columns, which = np.unique(Z, axis=1, return_inverse=True)
    reduced = columns[field.distinct]
    possible = reduced.any(axis=0) & (reduced[field.kind] == columns).all(axis=0)
    value, error = np.full(columns.shape[1], -math.inf), np.zeros(columns.shape[1])
    estimate = _exact(field, reduced[:, possible])
    if estimate is None:
        estimate = _estimated(field, reduced[:, possible], n_points, rng)
    value[possible], error[possible] = estimate
    return Estimate(value[which.ravel()], error[which.ravel()])


def unit_total(field: Field, n_points: int, rng: np.random.Generator) -> Estimate:
    r"""Return :math:`\lambda_1 = E[-\log \min_i \Phi(h_i)]`, the expected number of columns at mass 1."""
    from scipy.special import log_ndtr, ndtri

    n = len(field.distinct)
    if field.independent or n == 1:
        return Estimate(np.array(np.sum(1.0 / np.arange(1, n + 1))), np.array(0.0))
    if n == 2:
        return Estimate(2.0 - shared_part(field.distinct_matrix[0, 1]), np.array(0.0))
    values, vectors = np.linalg.eigh(field.distinct_matrix)
    factor = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]  # the first points' coordinates are the best spread
    points = _points(n_points, n)
    means = np.empty(SHIFTS)
    for r in range(SHIFTS):
        h = ndtri(_shifted(points, rng)) @ factor.T
        means[r] = -0.5 * np.mean(log_ndtr(h.min(axis=1)) + log_ndtr(-h.max(axis=1)))  # h and -h have one law
    return Estimate(means.mean(), means.std(ddof=1) / math.sqrt(SHIFTS))


def _exact(field: Field, Z: NDArray[np.bool_]) -> Estimate | None:
    """Return the rates of columns over distinct rows where there is a closed form."""
    from ddibp.priors.ibp import log_unit_rates as independent_rates

    n = len(Z)
    if field.independent or n == 1:
        value = independent_rates(Z)
    elif n == 2:
        both = shared_part(field.distinct_matrix[0, 1])
        value = np.where(Z.all(axis=0), np.log(both), np.log1p(-both))
    else:
        return None
    return Estimate(value, np.zeros(Z.shape[1]))


def _estimated(field: Field, Z: NDArray[np.bool_], n_points: int, rng: np.random.Generator) -> Estimate:
    """Return estimates of the rates of columns over distinct rows."""
    order, lower = _spread_out(field.distinct_matrix)
    points = _points(n_points, len(Z) + 1)
    value, error = np.empty(Z.shape[1]), np.empty(Z.shape[1])
    for k, z in enumerate(Z.T):
        signs = np.where(z[order], 1.0, -1.0)
        saddle = _saddle_point(lower, signs)
        logs = np.array([_log_mean(_log_weights(lower, signs, saddle, _shifted(points, rng))) for _ in range(SHIFTS)])
        value[k] = _log_mean(logs)
        error[k] = np.exp(logs - value[k]).std(ddof=1) / math.sqrt(SHIFTS)
    return Estimate(value, error)


def _spread_out(C: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Return an order of rows, each the least known from those before it, and the Cholesky factor in that order.

    Rows that stand far apart come first, so that the rows between have little left to be drawn.
    """
    n = len(C)
    order, left = np.arange(n), np.full(n, 1.0 + _NUGGET)
    L = np.zeros((n, n))
    for j in range(n):
        best = j + int(np.argmax(left[j:]))
        order[[j, best]], left[[j, best]] = order[[best, j]], left[[best, j]]
        L[[j, best], :j] = L[[best, j], :j]
        L[j, j] = math.sqrt(max(left[j], _NUGGET))
        L[j + 1 :, j] = (C[order[j + 1 :], order[j]] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
        left[j + 1 :] -= L[j + 1 :, j] ** 2
    return order, L


class _Saddle(NamedTuple):
    """Where draws are aimed at: the best threshold, its spread, and the means of the rows."""

    tau: float
    spread: float
    means: FloatArray


def _saddle_point(lower: FloatArray, signs: FloatArray) -> _Saddle:
    r"""Return the saddle point of the log weight.

    With :math:`d = \mathrm{diag}(L)`, :math:`K = d^{-1} L L' d^{-1}` and the inverse Mills ratio :math:`\lambda`,
    it solves :math:`s = \sigma\lambda(\sigma v)`, :math:`v = \tau/d + (K - I)s` and
    :math:`\sum_j s_j/d_j = \tau + \lambda(\tau)`; then :math:`\mu = -(d^{-1}L - I)'s`. Newton steps, halved until the
    residual falls, get there; where rounding stops them, the weights are still right.
    """
    from scipy.linalg import cho_factor, cho_solve

    n, inverse = len(signs), 1.0 / np.diagonal(lower)
    M = lower * inverse[:, None]
    K = M @ M.T

    def residuals(s: FloatArray, tau: float) -> tuple[FloatArray, float, FloatArray]:
        u = signs * (tau * inverse + K @ s - s)
        ratio = mills(u)
        return s - signs * ratio, float(s @ inverse - tau - mills(tau)), np.clip(ratio * (u + ratio), 1e-12, 1.0)

    def size(r: FloatArray, f: float) -> float:
        return math.hypot(float(np.linalg.norm(r)), f)

    s, tau, spread = np.zeros(n), 0.0, 1.0
    r, f, w = residuals(s, tau)
    for _ in range(100):
        H = cho_factor(K + np.diag((1.0 - w) / w), lower=True)
        across = cho_solve(H, inverse)
        towards = cho_solve(H, -r / w)
        ratio = float(mills(tau))
        bend = float(across @ inverse) + 1.0 - ratio * (tau + ratio)
        spread = 1.0 / math.sqrt(bend)
        step_tau = (f + float(towards @ inverse)) / bend
        step = towards - across * step_tau
        length, before = 1.0, size(r, f)
        while True:
            ahead = residuals(s + length * step, tau + length * step_tau)
            if size(*ahead[:2]) < before or length < 1e-6:
                break
            length *= 0.5
        s, tau = s + length * step, tau + length * step_tau
        r, f, w = ahead
        if size(r, f) < 1e-8 or length < 1e-6:
            break
    return _Saddle(tau, spread, s - M.T @ s)


def _log_weights(lower: FloatArray, signs: FloatArray, saddle: _Saddle, points: FloatArray) -> FloatArray:
    """Return the log weight of every point: the integrand over the density that the point is drawn from."""
    from scipy.special import log_ndtr, ndtri_exp, stdtrit

    x = stdtrit(_TAIL, points[:, 0])
    tau = saddle.tau + saddle.spread * x
    constant = math.lgamma(0.5 * _TAIL + 0.5) - math.lgamma(0.5 * _TAIL) - 0.5 * math.log(math.pi * _TAIL)
    log_density = constant - math.log(saddle.spread) - 0.5 * (_TAIL + 1.0) * np.log1p(x**2 / _TAIL)
    log_w = _log_mills(tau) - log_density
    drawn = np.empty((len(points), len(signs)))
    for j, (sign, mean) in enumerate(zip(signs, saddle.means, strict=True)):
        room = sign * ((tau - drawn[:, :j] @ lower[j, :j]) / lower[j, j] - mean)
        log_p = log_ndtr(room)
        drawn[:, j] = mean + sign * ndtri_exp(np.log(points[:, j + 1]) + log_p)
        log_w += log_p + mean * (0.5 * mean - drawn[:, j])
    return log_w


def _log_mills(tau: FloatArray) -> FloatArray:
    """Return the log of the inverse Mills ratio, where the ratio itself underflows too."""
    from scipy.special import log_ndtr

    far = -0.5 * tau**2 - 0.5 * math.log(2.0 * math.pi) - log_ndtr(tau)
    return np.where(tau > 0.0, far, np.log(mills(np.minimum(tau, 0.0))))


def _points(n_points: int, dimension: int) -> FloatArray:
    """Return the first points of Sobol's sequence: a power of two of them, enough for all shifts together."""
    from scipy.stats import qmc

    exponent = max(1, math.ceil(math.log2(n_points / SHIFTS)))
    return np.asarray(qmc.Sobol(dimension, scramble=False).random_base2(exponent))


def _shifted(points: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.clip((points + rng.random(points.shape[1])) % 1.0, _TINY, 1.0 - _TINY)


def _log_mean(logs: FloatArray) -> float:
    top = float(logs.max())
    return top + math.log(float(np.mean(np.exp(logs - top)))) if top > -math.inf else -math.inf
