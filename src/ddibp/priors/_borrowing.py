r"""The dHBP in the reading ``"customer"``, given the row that every row borrows from: rates in closed form.

.. math:: \rho_z = c_0 \int_0^1 p^{-1} (1-p)^{c_0-1} \prod_j
          \frac{(c_1 p)_{m_j} (c_1 (1-p))_{n_j-m_j}}{(c_1)_{n_j}}\, dp

Under the integral stands a polynomial of degree N - 1 with the weight :math:`(1-p)^{c_0-1}`: Gauss-Jacobi quadrature
with more than N/2 nodes is exact. Beyond :math:`20 + 4\sqrt N` nodes nothing changes within rounding.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp._links import draw_links
from ddibp.moves import evidence as ev
from ddibp.priors import _borrowing_kernels as kernels
from ddibp.priors._process import Column, FloatArray, Process
from ddibp.proximity import Proximity


@functools.lru_cache(maxsize=64)
def nodes(n_rows: int, c0: float) -> tuple[FloatArray, FloatArray]:
    """Return nodes p in (0, 1) and weights that integrate polynomials against Beta(1, c0)."""
    from scipy.special import roots_jacobi

    x, weights = roots_jacobi(min(n_rows // 2 + 1, 20 + int(4.0 * np.sqrt(n_rows))), c0 - 1.0, 0.0)
    return 0.5 * (1.0 + x), weights / weights.sum()


@dataclass(frozen=True, eq=False)
class BorrowingProcess(Process):
    """Columns of the dHBP given who borrows from whom."""

    proximity: Proximity
    lenders: NDArray[np.int32]
    c0: float
    c1: float

    sequential = True
    exchangeable = True

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return self.proximity.n_rows

    @property
    def hidden(self) -> Mapping[str, NDArray[Any]]:
        """The lenders."""
        return {"lenders": self.lenders}

    @property
    def relations(self) -> tuple[NDArray[Any], ...]:
        """Who may borrow from whom, and how likely that is."""
        rows = self.proximity.rows
        return rows.indptr, rows.indices, rows.weights

    @cached_property
    def log_hidden(self) -> float:
        r"""Return :math:`\sum_i \log a_{i g_i}`."""
        weights = self.proximity.matrix[np.arange(self.n_rows), self.lenders]
        with np.errstate(divide="ignore"):
            return float(np.log(np.asarray(weights)).sum())

    def with_hidden(self, hidden: Mapping[str, NDArray[Any]]) -> BorrowingProcess:
        """Return the process with other lenders."""
        return replace(self, lenders=hidden["lenders"])

    def draw_hidden(self, rng: np.random.Generator) -> BorrowingProcess:
        """Return the process with lenders drawn from their law without data."""
        rows, lenders = self.proximity.rows, np.empty((1, self.n_rows), np.int32)
        draw_links(rng, rows.indptr, rows.indices, rows.weights, lenders)
        return replace(self, lenders=lenders[0])

    @cached_property
    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        return nodes(self.n_rows, self.c0)

    @cached_property
    def _prefixes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        p, omega = self._nodes
        prefix, log_h, vacant = np.empty((self.n_rows, p.size)), np.empty(self.n_rows), np.empty(p.size)
        kernels.prefixes(self.lenders, p, omega, self.c1, prefix, log_h, vacant)
        return prefix, log_h, vacant

    @property
    def log_h(self) -> FloatArray:  # type: ignore[override]
        """Minus the log rate of the columns that begin with each row."""
        return self._prefixes[1]

    @cached_property
    def singleton_rates(self) -> FloatArray:  # type: ignore[override]
        """Rate, at mass 1, of columns that only row i has."""
        p, omega = self._nodes
        sizes = np.bincount(self.lenders, minlength=self.n_rows)
        different, place = np.unique(sizes[self.lenders], return_inverse=True)
        shares = self.c1 / (self.c1 * (1.0 - p) + different[:, None] - 1.0)
        return np.asarray((shares @ (omega * self._prefixes[2]))[place])

    def log_unit_rates(self, Z: NDArray[np.bool_]) -> FloatArray:
        """Return the log rate of every column at mass 1."""
        prefix, log_h, _ = self._prefixes
        columns, urns = np.ascontiguousarray(Z.T).view(np.uint8), np.empty((2, self.n_rows))
        p = self._nodes[0]
        return np.array([kernels.log_unit_rate(z, self.lenders, p, self.c1, prefix, log_h, urns) for z in columns])

    def flip(self, state: Any, collapsed: bool) -> int:
        """Flip single rows with the base probability of the column summed out."""
        order = state.random_order()
        return kernels.sweep(
            state.rng,
            order,
            state.lik,
            collapsed,
            state.evidence,
            state.work,
            self.lenders,
            *self._nodes,
            self.c1,
        )

    def draw_column(self, rng: np.random.Generator, owner: int | None = None) -> Column:
        """Return a column drawn row by row from its first."""
        first = self._any_owner(rng) if owner is None else owner
        z = np.zeros(self.n_rows, np.uint8)
        p, prefix = self._nodes[0], self._prefixes[0]
        kernels.grow(rng, z, first, False, self.lenders, p, self.c1, prefix, _no_evidence(), True)
        return z, first, None

    def grow(
        self, rng: np.random.Generator, z: NDArray[np.uint8], owner: int, given: bool, evidence: ev.Evidence
    ) -> tuple[float, float]:
        """Draw a column from its first row on, or evaluate a given one."""
        p, prefix = self._nodes[0], self._prefixes[0]
        return kernels.grow(rng, z, owner, given, self.lenders, p, self.c1, prefix, evidence, False)

    def draw_atoms(self, columns: NDArray[np.uint8], rng: np.random.Generator) -> FloatArray:
        """Draw the base probability of every column given its rows."""
        return np.array([kernels.draw_atom(rng, z, self.lenders, self.c0, self.c1) for z in columns])

    def move_hidden(self, columns: NDArray[np.uint8], mass: float, rng: np.random.Generator) -> tuple[Process, int]:
        """Draw the lenders given the features; return the process that has them, and how many changed."""
        lenders = self.lenders.copy()
        changed = kernels.sweep_lenders(
            rng,
            rng.permutation(self.n_rows),
            columns,
            self.draw_atoms(columns, rng),
            lenders,
            self.proximity.rows,
            *self._nodes,
            self._prefixes[2].copy(),
            mass,
            self.c1,
        )
        return replace(self, lenders=lenders), changed


@functools.cache
def _no_evidence() -> ev.Evidence:
    return ev.Evidence(np.zeros((1, 1)), np.zeros((1, 2)), np.zeros(1), np.zeros(7), np.zeros(2, np.int64))
