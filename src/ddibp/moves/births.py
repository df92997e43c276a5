r"""Births that look at the data, with exact proposal densities, so that deaths are their exact reverse.

An owner is drawn by its residual energy, then the rows after it one by one, each with the odds of the prior's coin
times the running likelihood ratio. The same code draws a column and evaluates the density of drawing a given one. For
proximities that are not sequential the coins are only a guess at the prior, which is evaluated elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel
from ddibp.moves.evidence import Evidence, apply, change_row, clear

_CAP = 30.0  # a proposal follows the data up to e^30, so that it never excludes what the prior allows


@kernel
def owner_log_weights(log_h: Any, ev: Evidence) -> Any:
    """Return normalised log probabilities of owners: residual energy over h."""
    n = log_h.size
    weights = np.empty(n)
    total = 0.0
    for i in range(n):
        weights[i] = np.exp(-log_h[i]) * (ev.squares[i, 0] + ev.numbers[4])
        total += weights[i]
    return np.log(weights / total)


@kernel
def grow(
    rng: Any, z: Any, owner: int, given: bool, exchangeable: bool, sequential: bool, rows: Any, ev: Evidence
) -> Any:
    """Draw a column with this owner, or follow the ``given`` one; return (log proposal, log prior of the coins).

    Afterwards the evidence holds the sums of the column, so that its score is the log likelihood ratio of a birth.
    """
    ev_rows, squares, total, numbers, sizes = ev
    M, P = sizes[0], sizes[1]
    n = z.size
    clear(ev)
    drawn = np.zeros(n, np.uint8)
    drawn[owner] = 1
    apply(ev, ev.rows[owner], 1.0, 1.0)
    log_q = log_p = 0.0
    for i in range(n):
        if i == owner:
            continue
        if sequential and i < owner:
            if given and z[i] == 1:
                return -np.inf, -np.inf
            continue
        on = off = 0.0
        if exchangeable:
            on = ev.numbers[2] / (i + 1.0)
            off = 1.0 - on
        else:
            for s in range(rows.indptr[i], rows.indptr[i + 1]):
                j = rows.indices[s]
                if drawn[j] == 1:
                    on += rows.weights[s]
                elif sequential or j <= i or j == owner:
                    off += rows.weights[s]
        if on == 0.0:
            if given and z[i] == 1:
                return -np.inf, -np.inf
            continue
        log_odds = np.log(on / off) + min(max(change_row(ev_rows, squares, total, numbers, M, P, i, 1.0), -_CAP), _CAP)
        q = 1.0 / (1.0 + np.exp(-log_odds))
        take = z[i] == 1 if given else rng.random() < q
        if take:
            drawn[i] = 1
            apply(ev, ev.rows[i], 1.0, 1.0)
            log_q += -np.log1p(np.exp(-log_odds))
            log_p += np.log(on / (on + off))
        else:
            log_q += -np.log1p(np.exp(log_odds))
            log_p += np.log(off / (on + off))
    if not given:
        z[:] = drawn
    return log_q, log_p
