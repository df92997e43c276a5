r"""Evidence for one column: what the data say about which rows are active, all other columns held fixed.

With E the residuals given the other columns (rows by outputs), :math:`Y = Z_{-k} L^{-T}`,
:math:`L L^T = Z_{-k}^T Z_{-k} + r I`, the log likelihood of a column z is, up to a constant, a function of two sums:

.. math:: u = \sum_{z_i=1} E_i, \quad y = \sum_{z_i=1} Y_i, \quad v = r + |z| - |y|^2, \quad
          -\tfrac{M}{2} \log (v/r) + \frac{|u|^2}{2 \sigma_x^2 v}.

With given weights of the other columns there is no Y; with missing entries every output m has its own
:math:`v_m = r + \sum_{z_i=1} o_{im}`. The empty column scores 0, so that births are scored by the same formula.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ddibp._kernel import fast_sums_kernel as kernel


class Gaussian(NamedTuple):
    """State of the linear-Gaussian likelihood, outputs by the reduced data; the first ``sizes[0]`` columns are in use.

    ``scales`` holds sigma_x, sigma_w, the true number of outputs M; ``sizes`` holds K. ``observed`` has a row per row
    of X where entries are missing and left out, and none otherwise. ``weights`` and ``residuals`` are in use if the
    weights are part of the state.
    """

    X: Any
    observed: Any
    z: Any
    gram: Any
    cross: Any
    weights: Any
    residuals: Any
    scales: Any
    sizes: Any


class Evidence(NamedTuple):
    """Work space: rows of [E, Y] or [E, o], their squared norms, sums over the active rows, and sizes.

    ``total`` is the sum of the active rows; ``numbers`` holds |u|², |y|², |z|, ridge r, sigma_x², M and the score;
    ``sizes`` holds the numbers of outputs and of projections in use (-1: none, and the rows end with o).
    """

    rows: Any
    squares: Any
    total: Any
    numbers: Any
    sizes: Any


@kernel
def cholesky(H: Any, n: int) -> None:
    """Overwrite the lower triangle of the leading n×n block by its Cholesky factor."""
    for i in range(n):
        for j in range(i + 1):
            s = H[i, j]
            for l in range(j):
                s -= H[i, l] * H[j, l]
            H[i, j] = np.sqrt(s) if i == j else s / H[j, j]


@kernel
def inverse_lower(L: Any, n: int, columns: Any) -> None:
    """Write column l of the inverse of the lower factor into row l of ``columns``."""
    for l in range(n):
        columns[l, :n] = 0.0
        columns[l, l] = 1.0 / L[l, l]
        for i in range(l + 1, n):
            s = 0.0
            for j in range(l, i):
                s += L[i, j] * columns[l, j]
            columns[l, i] = -s / L[i, i]


@kernel
def prepare(lik: Gaussian, collapsed: bool, k: int, ev: Evidence, work: Any, also: int = -1) -> None:
    """Fill the evidence for column k given the other columns (k = -1: for a column beside all of them).

    Column ``also`` is left out of the others too, for moves that put both columns together anew.
    """
    N, M = lik.X.shape
    variance = lik.scales[0] ** 2
    ridge = variance / lik.scales[1] ** 2
    ev.numbers[3], ev.numbers[4], ev.numbers[5] = ridge, variance, lik.scales[2]
    ev.sizes[0] = M
    if collapsed:
        _prepare_collapsed(lik, k, also, ridge, ev, work)
    else:
        missing = lik.observed.shape[0] > 0
        ev.sizes[1] = -1 if missing else 0
        for i in range(N):
            on = k >= 0 and lik.z[k, i] == 1
            on_also = also >= 0 and lik.z[also, i] == 1
            for m in range(M):
                e = lik.residuals[i, m]
                if on:
                    e += lik.weights[k, m]
                if on_also:
                    e += lik.weights[also, m]
                if missing:
                    e *= lik.observed[i, m]
                    ev.rows[i, M + m] = lik.observed[i, m]
                ev.rows[i, m] = e
    width = M + max(ev.sizes[1], 0)
    for i in range(N):
        s = 0.0
        for m in range(M):
            s += ev.rows[i, m] ** 2
        ev.squares[i, 0] = s
        s = 0.0
        for m in range(M, width):
            s += ev.rows[i, m] ** 2
        ev.squares[i, 1] = s
    if k < 0:
        clear(ev)
    else:
        add_up(ev, lik.z[k])


@kernel
def _prepare_collapsed(lik: Gaussian, k: int, also: int, ridge: float, ev: Evidence, work: Any) -> None:
    """Fill rows with [E, Y]: residuals given the other columns, and projections on them."""
    K, N, M = lik.sizes[0], lik.X.shape[0], lik.X.shape[1]
    others = np.empty(K, np.int64)
    n = 0
    for l in range(K):
        if l not in (k, also):
            others[n] = l
            n += 1
    ev.sizes[1] = n
    H, inverse, fit = work
    for a in range(n):
        for b in range(a + 1):
            H[a, b] = lik.gram[others[a], others[b]]
        H[a, a] += ridge
    cholesky(H, n)
    inverse_lower(H, n, inverse)
    for a in range(n):  # fit = H^{-1} Z'X = L^{-T} L^{-1} Z'X
        for m in range(M):
            s = 0.0
            for b in range(a + 1):
                s += inverse[b, a] * lik.cross[others[b], m]
            fit[n + a, m] = s
    for a in range(n):
        for m in range(M):
            fit[a, m] = 0.0
        for b in range(a, n):
            w = inverse[a, b]
            for m in range(M):
                fit[a, m] += w * fit[n + b, m]
    for i in range(N):
        for m in range(M):
            ev.rows[i, m] = lik.X[i, m]
        for b in range(n):
            ev.rows[i, M + b] = 0.0
        for a in range(n):
            if lik.z[others[a], i] == 1:
                for m in range(M):
                    ev.rows[i, m] -= fit[a, m]
                for b in range(a, n):
                    ev.rows[i, M + b] += inverse[a, b]


@kernel
def width_of(ev: Evidence) -> int:
    """Return the number of entries of a row of the evidence."""
    return ev.sizes[0] + (ev.sizes[0] if ev.sizes[1] < 0 else ev.sizes[1])


@kernel
def clear(ev: Evidence) -> None:
    """Set the sums to those of the empty column."""
    ev.total[:] = 0.0
    ev.numbers[0] = ev.numbers[1] = ev.numbers[2] = ev.numbers[6] = 0.0


@kernel
def add_up(ev: Evidence, z: Any) -> None:
    """Compute the sums over the active rows of z from scratch."""
    clear(ev)
    width = width_of(ev)
    for i in range(z.size):
        if z[i] == 1:
            ev.numbers[2] += 1.0
            for d in range(width):
                ev.total[d] += ev.rows[i, d]
    _norms(ev)


@kernel
def _score(ev: Evidence, u2: float, y2: float, count: float) -> float:
    v = ev.numbers[3] + count - y2
    return u2 / (2.0 * ev.numbers[4] * v) - 0.5 * ev.numbers[5] * np.log(v / ev.numbers[3])


@kernel
def _norms(ev: Evidence) -> None:
    M, P = ev.sizes[0], max(ev.sizes[1], 0)
    u = y = 0.0
    for m in range(M):
        u += ev.total[m] ** 2
    for m in range(M, M + P):
        y += ev.total[m] ** 2
    ev.numbers[0], ev.numbers[1] = u, y
    if ev.sizes[1] >= 0:
        ev.numbers[6] = _score(ev, u, y, ev.numbers[2])


@kernel
def score(ev: Evidence) -> float:
    """Return the log likelihood of the column with the current sums, relative to the empty column."""
    if ev.sizes[1] >= 0:
        return ev.numbers[6]
    result = 0.0
    M = ev.sizes[0]
    for m in range(M):
        v = ev.numbers[3] + ev.total[M + m]
        result += ev.total[m] ** 2 / (2.0 * ev.numbers[4] * v) - 0.5 * np.log(v / ev.numbers[3])
    return result


@kernel
def change(ev: Evidence, part: Any, u2: float, y2: float, count: float, sign: float) -> float:
    """Return how the score changes when a sum of rows ``part`` (squared norms u2, y2) is added or taken away."""
    M = ev.sizes[0]
    if ev.sizes[1] >= 0:
        du = dy = 0.0
        for m in range(M):
            du += ev.total[m] * part[m]
        for m in range(M, M + ev.sizes[1]):
            dy += ev.total[m] * part[m]
        new_u, new_y = ev.numbers[0] + 2.0 * sign * du + u2, ev.numbers[1] + 2.0 * sign * dy + y2
        return _score(ev, new_u, new_y, ev.numbers[2] + sign * count) - ev.numbers[6]
    result = 0.0
    for m in range(M):
        v, u = ev.numbers[3] + ev.total[M + m], ev.total[m]
        w, t = v + sign * part[M + m], u + sign * part[m]
        result += (t * t / w - u * u / v) / (2.0 * ev.numbers[4]) - 0.5 * np.log(w / v)
    return result


@kernel
def change_row(rows: Any, squares: Any, total: Any, numbers: Any, M: int, P: int, i: int, sign: float) -> float:
    """Return how the score changes when row i is switched on (sign 1) or off (-1).

    The hot spot of every sweep. It does what `change` does but takes the evidence's arrays one by one: unpacked once
    outside a loop, they cost a quarter of handing the tuple through.
    """
    if P < 0:
        return _change_of_row_with_holes(rows, total, numbers, M, i, sign)
    du = dy = 0.0
    e, u = rows[i, :M], total[:M]  # parts that begin at 0 become vector instructions
    for m in range(M):
        du += u[m] * e[m]
    p, y = rows[i, M : M + P], total[M : M + P]
    for m in range(P):
        dy += y[m] * p[m]
    u2 = numbers[0] + 2.0 * sign * du + squares[i, 0]
    v = numbers[3] + numbers[2] + sign - numbers[1] - 2.0 * sign * dy - squares[i, 1]
    return u2 / (2.0 * numbers[4] * v) - 0.5 * numbers[5] * np.log(v / numbers[3]) - numbers[6]


@kernel
def _change_of_row_with_holes(rows: Any, total: Any, numbers: Any, M: int, i: int, sign: float) -> float:
    """Do the same where outputs differ in which rows they see; apart, because it would keep the other from inlining."""
    result = 0.0
    for m in range(M):
        v, u = numbers[3] + total[M + m], total[m]
        w, t = v + sign * rows[i, M + m], u + sign * rows[i, m]
        result += (t * t / w - u * u / v) / (2.0 * numbers[4]) - 0.5 * np.log(w / v)
    return result


@kernel
def switched(rng: Any, on: bool, log_odds: float, gain: float) -> bool:
    """Draw whether an entry changes, from its prior log odds of being on and the gain in evidence of changing it."""
    x = gain - log_odds if on else log_odds + gain
    if abs(x) > 700.0:
        return x > 0.0
    return rng.random() * (1.0 + np.exp(-x)) < 1.0


@kernel
def apply(ev: Evidence, part: Any, count: float, sign: float) -> None:
    """Add or take away a sum of rows."""
    total, numbers, M = ev.total, ev.numbers, ev.sizes[0]
    P = max(ev.sizes[1], 0)
    u2 = y2 = 0.0
    u, e = total[:M], part[:M]
    for m in range(M):
        x = u[m] + sign * e[m]
        u[m] = x
        u2 += x * x
    rest = width_of(ev) - M
    y, p = total[M : M + rest], part[M : M + rest]
    for m in range(rest):
        x = y[m] + sign * p[m]
        y[m] = x
        y2 += x * x
    numbers[0], numbers[1] = u2, y2 if P > 0 else 0.0
    numbers[2] += sign * count
    if ev.sizes[1] >= 0:
        numbers[6] = _score(ev, u2, numbers[1], numbers[2])


@kernel
def commit(rng: Any, lik: Gaussian, collapsed: bool, k: int, ev: Evidence) -> None:
    """Tell the likelihood that column k of z has changed: refresh what it keeps, draw weights if they are state."""
    K, N, M = lik.sizes[0], lik.X.shape[0], lik.X.shape[1]
    if not collapsed:
        add_up(ev, lik.z[k])
        lik.gram[k, k] = ev.numbers[2]
        for m in range(M):
            n = ev.total[M + m] if ev.sizes[1] < 0 else ev.numbers[2]
            v = ev.numbers[3] + n
            lik.weights[k, m] = ev.total[m] / v + lik.scales[0] / np.sqrt(v) * rng.standard_normal()
        for i in range(N):
            for m in range(M):
                e = ev.rows[i, m]
                if lik.z[k, i] == 1:
                    e -= lik.weights[k, m] if ev.sizes[1] >= 0 else lik.weights[k, m] * lik.observed[i, m]
                lik.residuals[i, m] = e
        return
    for l in range(K):
        lik.gram[k, l] = 0.0
    for m in range(M):
        lik.cross[k, m] = 0.0
    for l in range(K):
        s = 0
        for i in range(N):
            s += lik.z[k, i] & lik.z[l, i]
        lik.gram[k, l] = lik.gram[l, k] = s
    for i in range(N):
        if lik.z[k, i] == 1:
            for m in range(M):
                lik.cross[k, m] += lik.X[i, m]
