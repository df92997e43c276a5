r"""The dHBP in the reading ``"dish"``: every row borrows every column from a row of its own choice.

A chain keeps the lenders of every column (as its links); given them, p is drawn whenever it is needed, a mixture of
betas. The expected number of columns has no closed form, so that the mass goes by ghosts, and concentrations and decay
parameters by all dishes with :math:`p > \varepsilon`, those that nobody takes included, which are drawn anew each time:
they number Poisson(:math:`\gamma c_0 \int_\varepsilon^1 p^{-1} (1-p)^{c_0-1} dp`). Leaving out rarer dishes changes
the law of the features by at most :math:`N \gamma c_0 \varepsilon` in total variation, here :math:`10^{-9} \gamma c_0`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp._links import draw_links
from ddibp.moves import evidence as ev
from ddibp.priors import _dish_kernels as kernels
from ddibp.priors._borrowing import BorrowingProcess, nodes
from ddibp.priors._borrowing_kernels import draw_atom
from ddibp.priors._columns import log_matrix_probability
from ddibp.priors._marked import Dishes, MarkedProcess
from ddibp.priors._process import FloatArray
from ddibp.proximity import Proximity
from ddibp.proximity.matrix import CompressedRows

_RUNS = 8
_NETWORKS = 64


@dataclass(frozen=True, eq=False)
class DishProcess(MarkedProcess):
    """Columns of the dHBP with lenders of their own."""

    proximity: Proximity
    c0: float
    c1: float

    kept = ("links",)

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return self.proximity.n_rows

    @property
    def rows(self) -> CompressedRows:
        """Weights as compiled code reads them."""
        return self.proximity.rows

    @cached_property
    def log_h(self) -> FloatArray:  # type: ignore[override]
        """Zero: every row takes as many dishes."""
        return np.zeros(self.n_rows)

    def draw_lenders(self, n_dishes: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw the lenders of dishes from their law without data."""
        lenders = np.empty((n_dishes, self.n_rows), np.int32)
        draw_links(rng, self.rows.indptr, self.rows.indices, self.rows.weights, lenders)
        return lenders

    def draw_taken(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Dishes:
        """Draw dishes that given rows take."""
        lenders, z = self.draw_lenders(rows.size, rng), np.zeros((rows.size, self.n_rows), np.uint8)
        kernels.draw_dishes(rng, rows, lenders, self.c0, self.c1, z)
        return Dishes(rows, z, lenders, np.empty((rows.size, 0)))

    def flip(self, state: Any, collapsed: bool) -> int:
        """Draw features and lenders of single rows."""
        return kernels.sweep(
            state.rng,
            state.random_order(),
            state.lik,
            collapsed,
            state.evidence,
            state.work,
            state.links,
            self.rows,
            self.c0,
            self.c1,
        )

    def propose(self, mass: float, rng: np.random.Generator, evidence: ev.Evidence) -> tuple[Dishes, float]:
        """Draw a column from a row with much residual energy on."""
        weights = _energy(evidence, self.n_rows)
        row = int(min(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum()), self.n_rows - 1))
        z, lenders = np.zeros(self.n_rows, np.uint8), np.zeros(self.n_rows, np.int32)
        log_ratio = kernels.grow(rng, z, lenders, row, False, rng.beta(1.0, self.c0), self.c1, self.rows, evidence)
        dish = Dishes(np.array([row]), z[None], lenders[None], np.empty((1, 0)))
        return dish, log_ratio + math.log(mass * weights.sum() / weights[z == 1].sum())

    def reverse(self, dish: Dishes, mass: float, rng: np.random.Generator, evidence: ev.Evidence) -> float:
        """Draw the row that the column may have begun with, and p, and return log(rate / density)."""
        weights, z, lenders = _energy(evidence, self.n_rows), dish.z[0], dish.links[0]
        active = np.flatnonzero(z)
        shares = np.cumsum(weights[active])
        row = int(active[min(np.searchsorted(shares, rng.random() * shares[-1]), active.size - 1)])
        p = draw_atom(rng, z, lenders, self.c0, self.c1)
        log_ratio = kernels.grow(rng, z, lenders, row, True, p, self.c1, self.rows, evidence)
        return float(log_ratio + math.log(mass * weights.sum() / shares[-1]))

    def log_prior(self, Z: NDArray[np.bool_], mass: float) -> float:
        """Return an estimate of the log probability of Z, with the same random numbers for every Z."""
        p, omega = nodes(self.n_rows, self.c0)
        rng, columns = np.random.default_rng(0), np.ascontiguousarray(Z.T).view(np.uint8)
        rates = [kernels.estimate_log_unit_rate(rng, z, p, omega, self.c1, self.rows, _RUNS) for z in columns]
        return log_matrix_probability(Z, np.array(rates), self.unit_total, mass)

    @cached_property
    def unit_total(self) -> float:
        """Expected number of columns at mass 1: the mean over 64 draws of all lenders."""
        given = BorrowingProcess(self.proximity, np.arange(self.n_rows, dtype=np.int32), self.c0, self.c1)
        draws = self.draw_lenders(_NETWORKS, np.random.default_rng(0))
        return float(np.mean([given.with_hidden({"lenders": lenders}).unit_total for lenders in draws]))

    # -- learned parameters --------------------------------------------------------------------------------------------

    def densities(
        self, make: Callable[[Mapping[str, float]], Any], state: Any
    ) -> Iterator[Callable[[Mapping[str, float]], float]]:
        """Yield the log density of all dishes above the truncation as a function of the parameters."""
        K, rng = state.n_features, state.rng
        least = 1e-9 / self.n_rows
        taken, log_rest = kernels.draw_atoms(rng, state.lik.z[:K], state.links[:K], self.c0, self.c1)
        vacant, vacant_lenders = self._vacant_dishes(state.alpha, least, rng)
        atoms = np.concatenate([np.maximum(taken, least), vacant])
        log_rests = float(log_rest.sum() + np.log1p(-vacant).sum())
        columns = np.concatenate([state.lik.z[:K], np.zeros((vacant.size, self.n_rows), np.uint8)])
        lenders = np.concatenate([state.links[:K], vacant_lenders])
        row = np.tile(np.arange(self.n_rows), len(lenders))

        def density(parameters: Mapping[str, float]) -> float:
            process = make(parameters)
            c0, c1 = process.c0, process.c1
            total = float(atoms.size * math.log(c0) + (c0 - 1.0) * log_rests)
            total -= state.alpha * c0 * _above(least, c0)
            total += sum(kernels.log_urns(*dish, c1) for dish in zip(columns, lenders, atoms, strict=True))
            if set(parameters) <= {"c0", "c1"}:
                return total
            with np.errstate(divide="ignore"):
                return total + float(np.log(np.asarray(process.proximity.matrix[row, lenders.ravel()])).sum())

        yield density

    def _vacant_dishes(
        self, mass: float, least: float, rng: np.random.Generator
    ) -> tuple[FloatArray, NDArray[np.int32]]:
        r"""Draw the dishes with p above ``least`` that nobody takes, and their lenders.

        :math:`c_0 p^{-1} (1-p)^{c_0-1} = c_0 p^{-1} (1-p)^{c_0} + c_0 (1-p)^{c_0-1}`: thinned log-uniform draws, and
        those of Beta(1, c0).
        """
        low = np.exp(np.log(least) * rng.random(rng.poisson(-mass * self.c0 * np.log(least))))
        low = low[rng.random(low.size) < (1.0 - low) ** self.c0]
        high = rng.beta(1.0, self.c0, rng.poisson(mass))
        atoms = np.concatenate([low, high[high > least]])
        lenders, vacant = self.draw_lenders(atoms.size, rng), np.empty(atoms.size, np.bool_)
        kernels.draw_vacant(rng, atoms, lenders, self.c1, vacant)
        return atoms[vacant], lenders[vacant]


def _energy(evidence: ev.Evidence, n_rows: int) -> FloatArray:
    return np.asarray(evidence.squares[:n_rows, 0] + evidence.numbers[4])


def _above(least: float, c0: float) -> float:
    r"""Return :math:`\int_\varepsilon^1 p^{-1} (1-p)^{c_0-1} dp`, up to :math:`O(\varepsilon)`."""
    from scipy.special import digamma

    return float(-math.log(least) - digamma(c0) - np.euler_gamma)
