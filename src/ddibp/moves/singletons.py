r"""The set of columns that only row i has, drawn as a whole with the exact law of their number: no cap, no truncation.

Such columns come at a Poisson rate :math:`\rho_i`. Summed over their weights, j of them add :math:`j \sigma_w^2` to the
variance of row i, so that their number has weights
:math:`\mathrm{Pois}(j; \rho_i)\, N(x_i; \hat x_i, (v + j\sigma_w^2) I)`, where :math:`\hat x_i, v` are the prediction
of row i from all other rows with these columns removed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel
from ddibp.moves.evidence import cholesky, inverse_lower


@kernel
def draw_number(rng: Any, rate: float, e2: float, n_outputs: float, v: float, step: float) -> int:
    r"""Draw j with probability proportional to Pois(j; rate) (v + j step)^{-M/2} exp(-e2 / (2 (v + j step))).

    Terms are added until what may follow is below 1e-12 of what has been added.
    """
    if rate <= 0.0:
        return 0
    best = max(v, e2 / n_outputs)  # the variance at which the Gaussian factor is largest
    ceiling = -0.5 * n_outputs * np.log(best) - 0.5 * e2 / best
    log_term = 0.0
    weights = np.empty(16)
    total, tail, j = 0.0, 1.0, 0
    while True:
        s = v + j * step
        if j == weights.size:
            longer = np.empty(2 * j)
            longer[:j] = weights
            weights = longer
        weights[j] = np.exp(log_term - 0.5 * n_outputs * np.log(s) - 0.5 * e2 / s - ceiling)
        total += weights[j]
        j += 1
        log_term += np.log(rate / j)
        if j > rate:
            tail = np.exp(log_term) / (1.0 - rate / (j + 1.0))
            if tail < 1e-12 * total or log_term < -745.0:
                break
    u = rng.random() * total
    for n in range(j):
        u -= weights[n]
        if u < 0.0:
            return n
    return j - 1


@kernel
def accept_number(rng: Any, old: int, new: int, e2: float, n_outputs: float, v: float, step: float) -> bool:
    """Accept a number drawn from the prior with the ratio of the Gaussian factors of `draw_number`."""
    before, after = v + old * step, v + new * step
    log_ratio = -0.5 * n_outputs * np.log(after / before) - 0.5 * e2 * (1.0 / after - 1.0 / before)
    return log_ratio >= 0.0 or rng.random() < np.exp(log_ratio)


@kernel
def invert(lik: Any, ridge: float, inverse: Any, fit: Any, work: Any) -> None:
    """Fill P = (Z'Z + r I)^{-1} and B = P Z'X of all columns."""
    H, lower, _ = work
    K, M = lik.sizes[0], lik.X.shape[1]
    for a in range(K):
        for b in range(a + 1):
            H[a, b] = lik.gram[a, b]
        H[a, a] += ridge
    cholesky(H, K)
    inverse_lower(H, K, lower)
    for a in range(K):
        for b in range(a + 1):
            s = 0.0
            for c in range(a, K):
                s += lower[a, c] * lower[b, c]
            inverse[a, b] = inverse[b, a] = s
    for a in range(K):
        for m in range(M):
            fit[a, m] = 0.0
        for b in range(K):
            w = inverse[a, b]
            for m in range(M):
                fit[a, m] += w * lik.cross[b, m]


@kernel
def drop_column(lik: Any, collapsed: bool, k: int, links: Any, owners: Any, marks: Any) -> None:
    """Take column k out: the last column takes its place."""
    last = lik.sizes[0] - 1
    N, M = lik.X.shape
    if not collapsed:
        for i in range(N):
            if lik.z[k, i] == 1:
                for m in range(M):
                    if lik.observed.shape[0] == 0 or lik.observed[i, m] == 1:
                        lik.residuals[i, m] += lik.weights[k, m]
    if k != last:
        lik.z[k] = lik.z[last]
        lik.weights[k] = lik.weights[last]
        lik.cross[k] = lik.cross[last]
        for l in range(last):
            lik.gram[k, l] = lik.gram[l, k] = lik.gram[last, l]
        lik.gram[k, k] = lik.gram[last, last]
        links[k] = links[last]
        owners[k] = owners[last]
        marks[k] = marks[last]
    lik.sizes[0] = last


@kernel
def append_singleton(lik: Any, i: int) -> None:
    """Append a column that only row i has."""
    K = lik.sizes[0]
    lik.z[K] = 0
    lik.z[K, i] = 1
    for l in range(K):
        lik.gram[K, l] = lik.gram[l, K] = lik.z[l, i]
    lik.gram[K, K] = 1.0
    lik.cross[K] = lik.X[i]
    lik.sizes[0] = K + 1


@kernel
def sweep_singletons(
    rng: Any,
    lik: Any,
    collapsed: bool,
    work: Any,
    inverse: Any,
    fit: Any,
    rates: Any,
    proposed: Any,
    links: Any,
    owners: Any,
    marks: Any,
    start: int,
    pending: int,
) -> Any:
    """Redraw the singletons of rows ``start`` onwards; return (row, number) that do not fit, or (N, 0) when done.

    Their number is drawn by its law where the ``rates`` are known. Otherwise ``proposed`` holds numbers that were drawn
    from the prior, which are accepted with the likelihood ratio or else refused.
    ``pending`` is the number already drawn for row ``start`` (or -1). New columns of row i are marked by the owner
    -1 - i, for the prior to fill in their links and marks.
    """
    N, M = lik.X.shape
    variance, step = lik.scales[0] ** 2, lik.scales[1] ** 2
    missing = lik.observed.shape[0] > 0
    e = np.empty(M)
    known = proposed.size == 0
    kept_links = np.empty((0 if known else lik.z.shape[0], links.shape[1]), links.dtype)
    kept_marks = np.empty((0 if known else lik.z.shape[0], marks.shape[1]))
    stale = True
    for i in range(start, N):
        number = pending
        pending = -1
        fresh = True
        if number < 0:
            dropped = 0
            for k in range(lik.sizes[0] - 1, -1, -1):
                if lik.z[k, i] == 1 and lik.gram[k, k] == 1.0:
                    if not known:
                        kept_links[dropped], kept_marks[dropped] = links[k], marks[k]
                    drop_column(lik, collapsed, k, links, owners, marks)
                    dropped += 1
                    stale = True
            K = lik.sizes[0]
            leverage, n_outputs = 0.0, lik.scales[2]
            if collapsed:
                if stale:
                    invert(lik, variance / step, inverse, fit, work)
                    stale = False
                for m in range(M):
                    e[m] = lik.X[i, m]
                for a in range(K):
                    if lik.z[a, i] == 1:
                        for m in range(M):
                            e[m] -= fit[a, m]
                        for b in range(a):
                            if lik.z[b, i] == 1:
                                leverage += 2.0 * inverse[a, b]
                        leverage += inverse[a, a]
            else:
                for m in range(M):
                    e[m] = lik.residuals[i, m]
                if missing:
                    n_outputs = 0.0
                    for m in range(M):
                        n_outputs += lik.observed[i, m]
            e2 = 0.0
            for m in range(M):
                e2 += e[m] ** 2
            # Prediction from the other rows: residual and variance grow by 1 / (1 - leverage).
            inflation = 1.0 / (1.0 - leverage)
            e2, v = e2 * inflation**2, variance * inflation
            if known:
                number = (
                    rng.poisson(rates[i]) if n_outputs == 0.0 else draw_number(rng, rates[i], e2, n_outputs, v, step)
                )
            else:
                number = proposed[i]
                fresh = accept_number(rng, dropped, number, e2, n_outputs, v, step)
                number = number if fresh else dropped
        if number > 0:
            if lik.sizes[0] + number > lik.z.shape[0]:
                return i, number
            first = lik.sizes[0]
            for new in range(number):
                k = lik.sizes[0]
                owners[k] = -1 - i
                if not fresh:
                    owners[k], links[k], marks[k] = i, kept_links[new], kept_marks[new]
                append_singleton(lik, i)
            if not collapsed:
                _draw_weights(rng, lik, i, first, number, missing)
            stale = True
    return N, 0


@kernel
def _draw_weights(rng: Any, lik: Any, i: int, first: int, number: int, missing: bool) -> None:
    """Draw the weights of new singletons of row i: each output's sum is Gaussian, the rest of the set its prior."""
    M = lik.X.shape[1]
    variance, step = lik.scales[0] ** 2, lik.scales[1] ** 2
    for m in range(M):
        if missing and lik.observed[i, m] == 0:
            for k in range(first, first + number):
                lik.weights[k, m] = lik.scales[1] * rng.standard_normal()
            continue
        # Prior draws, then moved by the data as a whole (Matheron's rule): exact for a sum of weights plus noise.
        total = 0.0
        for k in range(first, first + number):
            lik.weights[k, m] = lik.scales[1] * rng.standard_normal()
            total += lik.weights[k, m]
        seen = total + lik.scales[0] * rng.standard_normal()
        shift = step / (number * step + variance) * (lik.residuals[i, m] - seen)
        for k in range(first, first + number):
            lik.weights[k, m] += shift
            lik.residuals[i, m] -= lik.weights[k, m]
