"""Sweeps over all rows and columns: compiled moves, given the state of a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ddibp.moves import determinants, flips, leaves, links, singletons
from ddibp.moves import evidence as ev

if TYPE_CHECKING:
    from ddibp.sampling.state import ChainState


def relink(state: ChainState, collapsed: bool) -> tuple[int, int]:
    """Draw every link of every column, with all rows that hang below it going on or off as one."""
    return links.sweep_links(
        state.rng,
        state.lik,
        collapsed,
        state.evidence,
        state.work,
        state.process.rows,
        state.links,
        state.owners,
        state.process.sequential,
        state.scratch,
    )


def flip_leaves(state: ChainState, collapsed: bool) -> tuple[int, int]:
    """Flip single rows that carry no active row, with the links of inactive rows summed out."""
    return leaves.sweep_leaves(
        state.rng,
        state.lik,
        collapsed,
        state.evidence,
        state.work,
        state.process.rows,
        state.process.followers,
        np.empty(len(state.lik.X)),
        state.links,
        state.owners,
        np.empty(len(state.lik.X), np.int64),
    )


def flip_rows(state: ChainState, collapsed: bool) -> tuple[int, int]:
    """Flip single rows with owners and all links summed out, which are then drawn given the features."""
    process, n_rows = state.process, len(state.lik.X)
    if process.exchangeable:
        return flips.sweep_exchangeable(state.rng, state.lik, collapsed, state.evidence, state.work)
    if process.sequential:
        return flips.sweep_sequential(
            state.rng,
            state.lik,
            collapsed,
            state.evidence,
            state.work,
            process.rows,
            process.followers,
            np.empty(n_rows),
            state.links,
            state.owners,
        )
    changed, masses = 0, np.empty(n_rows)
    for k in state.rng.permutation(state.n_features):
        z = state.lik.z[k]
        ev.prepare(state.lik, collapsed, k, state.evidence, state.work)
        changed += determinants.flip_linked(state.rng, z, process.rows, process.followers, masses, state.evidence)
        ev.commit(state.rng, state.lik, collapsed, k, state.evidence)
        state.draw_causes(k)
    return n_rows * state.n_features, changed


def redraw_singletons(state: ChainState, collapsed: bool) -> tuple[int, int]:
    """Redraw, for every row, the set of columns that only this row has."""
    rates, n_rows = state.alpha * state.process.singleton_rates, len(state.lik.X)
    row, pending = 0, -1
    before = state.n_features
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
            state.links,
            state.owners,
            row,
            pending,
        )
        if row == n_rows:
            break
        pending = number
        state.make_room(state.n_features + number)
    for k in range(state.n_features):
        if state.owners[k] < 0:
            state.owners[k] = -1 - state.owners[k]
            if state.process.has_links:
                state.process.draw_links(state.lik.z[k], int(state.owners[k]), state.links[k], state.rng)
    return n_rows, abs(state.n_features - before)
