r"""Moves of two columns together: split and merge, and combinations.

**Split and merge**: a pair of active entries decides which. With T active entries before and T' after, a split of S
into a and b, drawn with density q, is accepted with
:math:`\frac{\rho_a \rho_b}{\rho_S}\, LR\, \frac{T(T-1)}{T'(T'-1)}\, \frac1q`, a merge with the reciprocal.

**Combine**: column a is replaced by the rows that have a or b but not both. Done twice this changes nothing, so that it
is accepted with :math:`\frac{\rho_{a \triangle b}}{\rho_a}\, LR`. It leads from one way of writing the same signal to
another: where b holds, :math:`w_a + w_b` and :math:`w_a`, or :math:`w_b` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ddibp._random import accepts
from ddibp.moves import evidence as ev
from ddibp.moves import split_merge as kernels

if TYPE_CHECKING:
    from ddibp.sampling.sampler import PosteriorSampler
    from ddibp.sampling.state import ChainState


def split_or_merge(sampler: PosteriorSampler, state: ChainState) -> tuple[int, int]:
    """Draw an ordered pair of active entries; split the column that has both, or merge the two that have them."""
    rng, K = state.rng, state.n_features
    sizes = state.lik.z[:K].sum(axis=1, dtype=np.int64)
    total = int(sizes.sum())
    if total < 2:
        return 1, 0
    first = int(rng.integers(total))
    second = int(rng.integers(total - 1))
    second += second >= first
    ends = np.cumsum(sizes)
    (k, i), (l, j) = (_entry(state, ends, at) for at in (first, second))
    if k == l:
        return 1, _split(sampler, state, k, i, j, total)
    if state.lik.z[k, j] or state.lik.z[l, i]:
        return 1, 0
    return 1, _merge(sampler, state, k, l, i, j, total)


def combine(sampler: PosteriorSampler, state: ChainState) -> tuple[int, int]:
    """Replace a column by its symmetric difference with another one."""
    rng, K = state.rng, state.n_features
    if K < 2:
        return 1, 0
    k, l = (int(column) for column in rng.choice(K, 2, replace=False))
    a, b = state.lik.z[k].copy(), state.lik.z[l]
    c = a ^ b
    if not c.any():
        return 1, 0
    rates = state.process.log_unit_rates(np.column_stack([a, c]).astype(bool))
    if rates[1] == -np.inf:
        return 1, 0
    ev.prepare(state.lik, sampler.likelihood.collapsed, k, state.evidence, state.work, l)
    before, after = (kernels.pair_score(kernels.pair_sums(z, b, state.evidence), state.evidence) for z in (a, c))
    if not accepts(rng, after - before + float(rates[1] - rates[0])):
        return 1, 0
    state.lik.z[k] = c
    if sampler.likelihood.collapsed:
        ev.prepare(state.lik, True, k, state.evidence, state.work)
        ev.commit(rng, state.lik, True, k, state.evidence)
    else:
        state.lik.gram[k, k] = c.sum()
        _draw_weights_together(state, k, l)
    state.draw_causes(k)
    return 1, 1


def _split(sampler: PosteriorSampler, state: ChainState, k: int, i: int, j: int, total: int) -> int:
    whole = state.lik.z[k].copy()
    ev.prepare(state.lik, sampler.likelihood.collapsed, k, state.evidence, state.work)
    a, b = np.zeros_like(whole), np.zeros_like(whole)
    a[i] = b[j] = 1
    log_q = _allocate(state, whole, i, j, False, a, b)
    after = total + int(a.sum()) + int(b.sum()) - int(whole.sum())
    log_ratio = _log_ratio(state, whole, a, b) - log_q + _log_pairs(total) - _log_pairs(after)
    if not accepts(state.rng, log_ratio):
        return 0
    sampler.drop(state, k)
    for z in (a, b):
        _append(sampler, state, z)
    if not sampler.likelihood.collapsed:
        k, l = state.n_features - 2, state.n_features - 1
        ev.prepare(state.lik, False, k, state.evidence, state.work, l)
        _draw_weights_together(state, k, l)
    return 1


def _merge(sampler: PosteriorSampler, state: ChainState, k: int, l: int, i: int, j: int, total: int) -> int:
    a, b = state.lik.z[k].copy(), state.lik.z[l].copy()
    whole = a | b
    ev.prepare(state.lik, sampler.likelihood.collapsed, k, state.evidence, state.work, l)
    log_q = _allocate(state, whole, i, j, True, a, b)
    after = total + int(whole.sum()) - int(a.sum()) - int(b.sum())
    log_ratio = log_q - _log_ratio(state, whole, a, b) + _log_pairs(total) - _log_pairs(after)
    if not accepts(state.rng, log_ratio):
        return 0
    for column in sorted((k, l), reverse=True):
        sampler.drop(state, column)
    _append(sampler, state, whole)
    return 1


def _entry(state: ChainState, ends: NDArray[np.int64], at: int) -> tuple[int, int]:
    """Return (column, row) of the active entry with this number."""
    k = int(np.searchsorted(ends, at, side="right"))
    rows = np.flatnonzero(state.lik.z[k])
    return k, int(rows[at - (ends[k - 1] if k else 0)])


def _allocate(
    state: ChainState,
    whole: NDArray[np.uint8],
    i: int,
    j: int,
    given: bool,
    a: NDArray[np.uint8],
    b: NDArray[np.uint8],
) -> float:
    """Allocate the rows of a column to a with i and b with j; return the log density.

    Rows go from i and j outward, so that those before a row tell where it belongs; rows without order at random.
    """
    process, rest = state.process, np.flatnonzero(whole)
    rest = rest[(rest != i) & (rest != j)]
    if process.exchangeable:
        order = state.rng.permutation(rest)
    else:
        order = rest[np.argsort(np.minimum(np.abs(rest - i), np.abs(rest - j)), kind="stable")]
    return float(
        kernels.allocate(
            state.rng,
            order,
            i,
            j,
            given,
            a,
            b,
            process.exchangeable,
            process.rows,
            process.followers,
            state.evidence,
        )
    )


def _log_ratio(state: ChainState, whole: NDArray[np.uint8], a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Return the log of (rate of a) (rate of b) / (rate of the whole) times the likelihood ratio."""
    rates = state.process.log_unit_rates(np.column_stack([a, b, whole]).astype(bool))
    if rates[0] == -np.inf or rates[1] == -np.inf:
        return -np.inf
    ev.add_up(state.evidence, whole)
    together = kernels.pair_score(kernels.pair_sums(a, b, state.evidence), state.evidence)
    return float(np.log(state.alpha) + rates[0] + rates[1] - rates[2] + together - ev.score(state.evidence))


def _log_pairs(total: int) -> float:
    return float(np.log(total) + np.log(total - 1))


def _append(sampler: PosteriorSampler, state: ChainState, z: NDArray[np.uint8]) -> None:
    process, K = state.process, state.n_features
    owner = process.draw_owner(z, state.rng)
    sampler.append(state, z, owner)
    process.draw_links(z, owner, state.links[K], state.rng)


def _draw_weights_together(state: ChainState, k: int, l: int) -> None:
    """Draw the weights of two columns from their joint law, from the evidence prepared without both."""
    lik = state.lik
    a, b = lik.z[k], lik.z[l]
    weights = np.empty((2, lik.X.shape[1]))
    kernels.draw_pair_weights(state.rng, kernels.pair_sums(a, b, state.evidence), state.evidence, weights)
    lik.weights[k], lik.weights[l] = weights
    M = lik.X.shape[1]
    lik.residuals[:] = state.evidence.rows[:, :M] - np.outer(a, weights[0]) - np.outer(b, weights[1])
    if len(lik.observed):
        lik.residuals[:] *= lik.observed
