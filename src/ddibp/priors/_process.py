"""What a Markov chain asks of a prior at given parameters: rates of columns, flips of rows, draws of whole columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ddibp import _links
from ddibp.moves import births, determinants, flips
from ddibp.moves import evidence as ev
from ddibp.priors import _reach
from ddibp.priors._columns import log_matrix_probability
from ddibp.priors.ibp import log_unit_rates as ibp_log_unit_rates
from ddibp.proximity import Proximity
from ddibp.proximity.matrix import CompressedRows

FloatArray = NDArray[np.float64]
Column = tuple[NDArray[np.uint8], int, Any]
"""A column with its owner and its links (None where there are none)."""


class Process:
    r"""A law of columns at mass 1 whose rates :math:`\rho_z` are known in closed form.

    A chain keeps a process beside its columns and replaces it when a parameter, or what is ``hidden``, changes.

    Attributes
    ----------
    n_rows : int
        Number of rows N.
    sequential : bool
        Whether the first active row of a column owns it.
    exchangeable : bool
        Whether rows have no neighbours, so that proposals go by numbers alone.
    has_links : bool
        Whether a chain keeps owners and links of every column.
    has_marks : bool
        Whether rates of columns are known only given what a chain keeps beside them, see `ddibp.priors._marked`.
    refreshes : bool
        Whether these are also drawn by a move of their own.
    kept : tuple of str
        What is stored with the draws of all that a chain keeps of every column: ``"links"``, ``"marks"`` or neither.
    log_h : ndarray of shape (n_rows,)
        Row i brings Poisson(:math:`\alpha / h_i`) new columns, which it owns.
    singleton_rates : ndarray of shape (n_rows,)
        Rate of the columns that only row i has.
    rows, followers
        Weights of links as compiled code reads them, by row and by column; empty where there are none.
    """

    n_rows: int
    log_h: FloatArray
    singleton_rates: FloatArray
    sequential: bool
    exchangeable: bool
    has_links: ClassVar[bool] = False
    has_marks: ClassVar[bool] = False
    refreshes: ClassVar[bool] = False
    kept: ClassVar[tuple[str, ...]] = ()

    @property
    def n_marks(self) -> int:
        """Number of real numbers that a chain keeps beside every column."""
        return 0

    @property
    def hidden(self) -> Mapping[str, NDArray[Any]]:
        """What else belongs to the state of a chain, by name."""
        return {}

    @property
    def log_hidden(self) -> float:
        """Log probability of what is hidden."""
        return 0.0

    def with_hidden(self, hidden: Mapping[str, NDArray[Any]]) -> Process:  # noqa: ARG002
        """Return the process with other hidden things."""
        return self

    def draw_hidden(self, rng: np.random.Generator) -> Process:  # noqa: ARG002
        """Return the process with what is hidden drawn from its law without data."""
        return self

    def move_hidden(self, columns: NDArray[np.uint8], mass: float, rng: np.random.Generator) -> tuple[Process, int]:
        """Draw what is hidden given the features; return the process that has it, and how much changed."""
        raise NotImplementedError

    @property
    def rows(self) -> CompressedRows:
        """No rows: there are no links."""
        none = np.empty(0)
        return CompressedRows(np.zeros(1, np.int64), np.empty(0, np.int32), none, none, none)

    @property
    def relations(self) -> tuple[NDArray[Any], ...]:
        """What covariates and parameters have been made into, weights or correlations: by this runs are recognised."""
        rows = self.rows
        return (rows.indptr, rows.indices, rows.weights) if len(rows.indices) else ()

    @property
    def followers(self) -> tuple[Any, Any, FloatArray]:
        """No followers: there are no links."""
        return np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0)

    @cached_property
    def unit_total(self) -> float:
        """Expected number of columns at mass 1."""
        return float(np.exp(-self.log_h).sum())

    def log_unit_rates(self, Z: NDArray[np.bool_]) -> FloatArray:
        """Return the log rate of every column at mass 1."""
        raise NotImplementedError

    def log_prior(self, Z: NDArray[np.bool_], mass: float) -> float:
        """Return the log probability of Z, the order of its columns apart, and of what is hidden."""
        return log_matrix_probability(Z, self.log_unit_rates(Z), self.unit_total, mass) + self.log_hidden

    def log_owner_rate(self, z: NDArray[np.uint8], owner: int) -> float:  # noqa: ARG002
        """Return the log rate at mass 1 of a column together with its owner."""
        return float(self.log_unit_rates(z[:, None].astype(bool))[0])

    def flip(self, state: Any, collapsed: bool) -> int:
        """Flip single rows of every column of a chain, in random order; return the number of changed entries."""
        raise NotImplementedError

    def draw_column(self, rng: np.random.Generator, owner: int | None = None) -> Column:
        """Return a column drawn from the law of all columns, or of those with this owner."""
        raise NotImplementedError

    def grow(
        self, rng: np.random.Generator, z: NDArray[np.uint8], owner: int, given: bool, evidence: ev.Evidence
    ) -> tuple[float, float]:
        """Draw a column with this owner that follows the data, or evaluate a given one.

        Return the log densities of the proposal and of the prior's coins, given the owner.
        """
        raise NotImplementedError

    def draw_owner(self, z: NDArray[np.uint8], rng: np.random.Generator) -> int:  # noqa: ARG002
        """Draw the owner of a column: its first row."""
        return int(np.argmax(z))

    def draw_links(self, z: NDArray[np.uint8], owner: int, links: NDArray[np.int32], rng: np.random.Generator) -> None:
        """Fill in the links of a column given its owner, if there are any."""

    def _any_owner(self, rng: np.random.Generator) -> int:
        weights = np.exp(-self.log_h)
        return int(min(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum()), self.n_rows - 1))


@dataclass(frozen=True, eq=False)
class ExchangeableProcess(Process):
    """The IBP over n rows; its coins are those of rows that come in one by one."""

    n_rows: int

    sequential = True
    exchangeable = True

    @cached_property
    def log_h(self) -> FloatArray:  # type: ignore[override]
        """Log of 1, 2, ..., N: row i brings Poisson(mass / i) new columns."""
        return np.log(np.arange(1.0, self.n_rows + 1.0))

    @cached_property
    def singleton_rates(self) -> FloatArray:  # type: ignore[override]
        """Rate, at mass 1, of columns that only row i has."""
        return np.full(self.n_rows, 1.0 / self.n_rows)

    def log_unit_rates(self, Z: NDArray[np.bool_]) -> FloatArray:
        """Return the log rate of every column at mass 1."""
        return ibp_log_unit_rates(Z)

    def flip(self, state: Any, collapsed: bool) -> int:
        """Flip single rows by the numbers of other rows."""
        order = state.random_order()
        return flips.sweep_exchangeable(state.rng, order, state.lik, collapsed, state.evidence, state.work)

    def draw_column(self, rng: np.random.Generator, owner: int | None = None) -> Column:
        """Return a column drawn row by row."""
        owner = self._any_owner(rng) if owner is None else owner
        links, active = np.empty((1, self.n_rows), np.int32), np.zeros((1, self.n_rows), np.bool_)
        _links.draw_ibp(rng, np.array([owner], np.int32), links, active)
        return active[0].view(np.uint8), owner, None

    def grow(
        self, rng: np.random.Generator, z: NDArray[np.uint8], owner: int, given: bool, evidence: ev.Evidence
    ) -> tuple[float, float]:
        """Draw a column row by row, or evaluate a given one."""
        return births.grow(rng, z, owner, given, True, True, self.rows, evidence)


@dataclass(frozen=True, eq=False)
class LinkedProcess(Process):
    """The dd-IBP over the rows of a proximity."""

    proximity: Proximity

    exchangeable = False
    has_links = True

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return self.proximity.n_rows

    @property
    def sequential(self) -> bool:  # type: ignore[override]
        """Whether no row links to a later one."""
        return self.proximity.sequential

    @property
    def rows(self) -> CompressedRows:
        """Weights as compiled code reads them."""
        return self.proximity.rows

    @cached_property
    def log_h(self) -> FloatArray:  # type: ignore[override]
        """Log normalisers."""
        return np.log(self.proximity.normalisers)

    @cached_property
    def singleton_rates(self) -> FloatArray:  # type: ignore[override]
        """Rate, at mass 1, of columns that only row i has: it owns them and no other row links to it."""
        rows = self.rows
        row = np.repeat(np.arange(self.n_rows), np.diff(rows.indptr))
        off = row != rows.indices
        stay = np.bincount(rows.indices[off], np.log1p(-rows.weights[off]), minlength=self.n_rows)
        return np.exp(stay - self.log_h)

    @cached_property
    def followers(self) -> tuple[Any, Any, FloatArray]:
        """Compressed columns of the weights: who may link to each row, and how strongly."""
        matrix = self.proximity.matrix.tocsc()
        return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data

    def log_unit_rates(self, Z: NDArray[np.bool_]) -> FloatArray:
        """Return the log rate of every column at mass 1."""
        return _reach.log_unit_rates(self.proximity, Z)

    def log_owner_rate(self, z: NDArray[np.uint8], owner: int) -> float:
        """Return the log rate at mass 1 of a column together with its owner."""
        rate = float(self.log_unit_rates(z[:, None].astype(bool))[0])
        if rate == -np.inf or self.sequential:
            return rate
        return rate + float(_reach.log_owner_probabilities(self.proximity, z.astype(bool))[owner])

    def flip(self, state: Any, collapsed: bool) -> int:
        """Flip single rows with owners and all links summed out, which are then drawn given the features."""
        order, n = state.random_order(), self.n_rows
        if self.sequential:
            return flips.sweep_sequential(
                state.rng,
                order,
                state.lik,
                collapsed,
                state.evidence,
                state.work,
                self.rows,
                self.followers,
                np.empty(n),
                np.empty(n),
                state.links,
                state.owners,
            )
        changed, masses = 0, np.empty(n)
        for k in order:
            z = state.lik.z[k]
            ev.prepare(state.lik, collapsed, k, state.evidence, state.work)
            changed += determinants.flip_linked(state.rng, z, self.rows, self.followers, masses, state.evidence)
            ev.commit(state.rng, state.lik, collapsed, k, state.evidence)
            state.draw_causes(k)
        return changed

    def draw_column(self, rng: np.random.Generator, owner: int | None = None) -> Column:
        """Return a column drawn with its links."""
        owner = self._any_owner(rng) if owner is None else owner
        links, active = np.empty((1, self.n_rows), np.int32), np.zeros((1, self.n_rows), np.bool_)
        _links.draw_links(rng, self.rows.indptr, self.rows.indices, self.rows.weights, links)
        _links.reach_owner(links[0], owner, active[0])
        return active[0].view(np.uint8), owner, links[0]

    def grow(
        self, rng: np.random.Generator, z: NDArray[np.uint8], owner: int, given: bool, evidence: ev.Evidence
    ) -> tuple[float, float]:
        """Draw a column by the weights of links, or evaluate a given one."""
        return births.grow(rng, z, owner, given, False, self.sequential, self.rows, evidence)

    def draw_links(self, z: NDArray[np.uint8], owner: int, links: NDArray[np.int32], rng: np.random.Generator) -> None:
        """Fill in links of one column given its owner."""
        _reach.draw_column_links(self.proximity, z, owner, links, rng)

    def draw_owner(self, z: NDArray[np.uint8], rng: np.random.Generator) -> int:
        """Draw the owner of a column."""
        return _reach.draw_owner(self.proximity, z.astype(bool), rng)
