"""Whether a chain is consistent: everything that moves keep up to date, recomputed from what it is derived from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ddibp._links import reach_owner

if TYPE_CHECKING:
    from ddibp.sampling.sampler import PosteriorSampler
    from ddibp.sampling.state import ChainState


def check(sampler: PosteriorSampler, state: ChainState, tolerance: float = 1e-8) -> None:
    r"""Recompute from scratch what a chain keeps incrementally, and raise AssertionError where it differs.

    Features must follow from links and owners or from thresholds and values, none may be empty, :math:`Z^T Z`,
    :math:`Z^T X` and the residuals :math:`X - ZW` must be those of the features, observed entries must be the data,
    weights or correlations of rows must be those of the parameters, lenders must be within reach, and an order of
    arrival must have every row once.

    Parameters
    ----------
    sampler, state
        A sampler and one of its chains.
    tolerance : float
        Largest difference of sums that are kept incrementally, relative to the largest entry of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import IBP, LinearGaussian
    >>> from ddibp.sampling.sampler import PosteriorSampler
    >>> sampler = PosteriorSampler(IBP(1.0), LinearGaussian(), np.eye(5))
    >>> state = sampler.start(np.random.default_rng(0))
    >>> check(sampler, state)
    >>> state.lik.cross[0] += 1.0
    >>> check(sampler, state)
    Traceback (most recent call last):
    ...
    AssertionError: cross, Z'X, is off by 1 in feature 0.
    """
    z = state.lik.z[: state.n_features]
    _check_hidden(state)
    _check_numbers(sampler, state)
    empty = np.flatnonzero(z.sum(axis=1, dtype=np.int64) == 0)
    _require(not len(empty), lambda: f"feature {empty[0]} is empty.")
    _require(z.max(initial=0) <= 1, lambda: f"z has the entry {z.max()}.")
    _check_data(sampler, state, tolerance)
    if sampler.likelihood.collapsed:
        _same("gram, Z'Z,", state.lik.gram[: len(z), : len(z)], z.astype(float) @ z.T.astype(float), 0.0)
        exact = z.astype(float) @ state.lik.X
        _same("cross, Z'X,", state.lik.cross[: len(z)], exact, tolerance * _size(state.lik.X) * len(state.data))
    else:
        sizes = z.sum(axis=1, dtype=float)
        _same("the diagonal of gram, Z'Z,", np.diagonal(state.lik.gram)[: len(z)], sizes, 0.0)
        weights = state.lik.weights[: len(z)]
        residuals = np.where(sampler.missing, 0.0, state.data - z.T.astype(float) @ weights)
        _same("residuals, X - ZW,", state.lik.residuals, residuals, tolerance * (_size(state.data) + _size(weights)))
    if state.process.has_links:
        _check_links(state)
    if state.process.has_marks:
        _check_marks(state)


def _check_numbers(sampler: PosteriorSampler, state: ChainState) -> None:
    numbers = {
        sampler.prior.mass_name: state.alpha,
        "sigma_x": state.lik.scales[0],
        "sigma_w": state.lik.scales[1],
        **state.parameters,
    }
    for name, value in numbers.items():
        _require(bool(np.isfinite(value)) and value > 0.0, lambda name=name, value=value: f"{name} is {value}.")
    outputs = state.lik.scales[2]
    _require(outputs == sampler.n_outputs, lambda: f"the number of outputs is kept as {outputs}.")
    process = sampler.process(state.parameters, state.process.hidden)
    name = "the proximity" if len(process.relations) > 1 else "the correlations"
    for kept, exact in zip(state.process.relations, process.relations, strict=True):
        _same(name, kept, exact, 0.0)
    _same("the rates of columns by their first row", state.process.log_h, process.log_h, 0.0)


def _check_data(sampler: PosteriorSampler, state: ChainState, tolerance: float) -> None:
    seen = ~sampler.missing
    _same("an observed entry", state.data[seen], sampler.observed[seen], 0.0)
    if state.lik.X.shape == state.data.shape:
        _same("the likelihood's X", state.lik.X, state.data, 0.0)
    else:
        exact = state.data @ state.data.T
        _same("the reduced data's XX'", state.lik.X @ state.lik.X.T, exact, tolerance * _size(exact))


def _check_links(state: ChainState) -> None:
    rows, n = state.process.rows, len(state.data)
    active = np.zeros(n, np.bool_)
    for k in range(state.n_features):
        z, owner, links = state.lik.z[k], int(state.owners[k]), state.links[k]
        _require(
            0 <= owner < n and z[owner] == 1, lambda k=k, owner=owner: f"feature {k} lacks its owner, row {owner}."
        )
        for i, j in enumerate(links):
            known = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
            _require(j in known, lambda i=i, j=j, k=k: f"row {i} cannot link to row {j}, but does in feature {k}.")
        reach_owner(links, owner, active)
        wrong = np.flatnonzero(active != z)
        _require(
            not len(wrong), lambda k=k, w=wrong: f"row {w[0]} of feature {k} disagrees with its walk to the owner."
        )


def _check_hidden(state: ChainState) -> None:
    hidden, n = state.process.hidden, len(state.data)
    if "order" in hidden:
        counts = np.bincount(hidden["order"], minlength=n)
        _require(len(counts) == n and bool((counts == 1).all()), lambda: f"rows arrive {counts.tolist()} times.")
    if "lenders" in hidden:
        _check_lenders(state.process.proximity.rows, hidden["lenders"], "")


def _check_marks(state: ChainState) -> None:
    """Check lenders of every column where there are rows to borrow from, and thresholds where there are values."""
    rows = state.process.rows
    for k in range(state.n_features):
        if len(rows.indices):
            _check_lenders(rows, state.links[k], f" in feature {k}")
        if state.process.n_marks:
            threshold, values = state.marks[k, 0], state.marks[k, 1:]
            finite = bool(np.isfinite(state.marks[k]).all())
            _require(finite, lambda k=k: f"the threshold or a value of feature {k} is not finite.")
            wrong = np.flatnonzero((values < threshold) != state.lik.z[k])
            _require(not len(wrong), lambda k=k, w=wrong: f"row {w[0]} of feature {k} is on the wrong side.")


def _check_lenders(rows: Any, lenders: NDArray[Any], where: str) -> None:
    for i, j in enumerate(lenders):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        near = rows.indices[part][rows.weights[part] > 0.0]
        _require(j in near, lambda i=i, j=j: f"row {i} cannot borrow from row {j}, but does{where}.")


def _same(name: str, kept: NDArray[Any], exact: NDArray[Any], tolerance: float) -> None:
    _require(kept.shape == exact.shape, lambda: f"{name} has shape {kept.shape}, not {exact.shape}.")
    gaps = np.abs(kept - exact)
    if gaps.size and not gaps.max() <= tolerance:
        worst = np.unravel_index(np.argmax(np.where(np.isnan(gaps), np.inf, gaps)), gaps.shape)
        where = f" in feature {worst[0]}" if "Z'" in name else f" at {tuple(int(w) for w in worst)}"
        raise AssertionError(f"{name} is off by {gaps[worst]:.3g}{where}.")


def _size(array: NDArray[Any]) -> float:
    return float(np.abs(array).max(initial=1.0))


def _require(holds: bool, message: Any) -> None:
    if not holds:
        raise AssertionError(message())
