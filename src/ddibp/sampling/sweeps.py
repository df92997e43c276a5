"""Sweeps over all rows and columns: compiled moves, given the state of a chain.

Columns are visited in a fresh random order every time: in the order of their birth a sampler is biased.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ddibp.moves import leaves, links, singletons

if TYPE_CHECKING:
    from ddibp.sampling.state import ChainState


def relink(state: ChainState, collapsed: bool) -> tuple[int, int]:
    """Draw every link of every column, with all rows that hang below it going on or off as one."""
    sweep = links.sweep_sequential_links if state.process.sequential else links.sweep_links
    changed = sweep(
        state.rng,
        state.random_order(),
        state.lik,
        collapsed,
        state.evidence,
        state.work,
        state.process.rows,
        state.links,
        state.owners,
        state.scratch,
    )
    return state.n_entries, changed


def flip_leaves(state: ChainState, collapsed: bool) -> tuple[int, int]:
    """Flip single rows that carry no active row, with the links of inactive rows summed out."""
    changed = leaves.sweep_leaves(
        state.rng,
        state.random_order(),
        state.lik,
        collapsed,
        state.evidence,
        state.work,
        state.process.rows,
        state.process.followers,
        np.empty(state.n_rows),
        state.links,
        state.owners,
        np.empty(state.n_rows, np.int64),
    )
    return state.n_entries, changed


def flip_rows(state: ChainState, collapsed: bool) -> tuple[int, int]:
    """Flip single rows with owners and all links summed out, which are then drawn given the features."""
    return state.n_entries, state.process.flip(state, collapsed)


def redraw_singletons(state: ChainState, collapsed: bool) -> tuple[int, int]:
    """Redraw, for every row, the set of columns that only this row has."""
    process, before = state.process, state.n_features
    proposals = process.propose_singletons(state.alpha, state.rng) if process.has_marks else None
    proposed = np.empty(0, np.int64) if proposals is None else proposals.counts(state.n_rows)
    rates = np.empty(0) if process.has_marks else state.alpha * process.singleton_rates
    row, pending = 0, -1
    while True:
        K = len(state.lik.z)
        inverse, fit = np.empty((K, K)), np.empty((K, state.lik.X.shape[1]))
        row, number = singletons.sweep_singletons(
            state.rng,
            state.lik,
            collapsed,
            state.work,
            inverse,
            fit,
            rates,
            proposed,
            state.links,
            state.owners,
            state.marks,
            row,
            pending,
        )
        if row == state.n_rows:
            break
        pending = number
        state.make_room(state.n_features + number)
    for k in np.flatnonzero(state.owners[: state.n_features] < 0):
        owner = state.owners[k] = -1 - state.owners[k]
        if proposals is None:
            process.draw_links(state.lik.z[k], int(owner), state.links[k], state.rng)
        else:
            state.links[k], state.marks[k] = proposals.take(int(owner))
    return state.n_rows, abs(state.n_features - before)
