"""What a Markov chain asks of a prior: rates of columns, single-row flips, and (for the dd-IBP) links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp.priors import _reach
from ddibp.priors.ibp import log_unit_rates as ibp_log_unit_rates
from ddibp.proximity import Proximity
from ddibp.proximity.matrix import CompressedRows

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExchangeableProcess:
    """The IBP over n rows; its coins are those of rows that come in one by one."""

    n_rows: int

    sequential = True
    exchangeable = True
    has_links = False

    @cached_property
    def log_h(self) -> FloatArray:
        """Log of 1, 2, ..., N: row i brings Poisson(mass / i) new columns."""
        return np.log(np.arange(1.0, self.n_rows + 1.0))

    @cached_property
    def unit_total(self) -> float:
        """Expected number of columns at mass 1."""
        return float(np.exp(-self.log_h).sum())

    @cached_property
    def singleton_rates(self) -> FloatArray:
        """Rate, at mass 1, of columns that only row i has."""
        return np.full(self.n_rows, 1.0 / self.n_rows)

    @property
    def rows(self) -> CompressedRows:
        """No rows: there are no links."""
        none = np.empty(0)
        return CompressedRows(np.zeros(1, np.int64), np.empty(0, np.int32), none, none, none)

    @property
    def followers(self) -> tuple[Any, Any, FloatArray]:
        """No followers: there are no links."""
        return np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0)

    def log_unit_rates(self, Z: NDArray[np.bool_]) -> FloatArray:
        """Return the log rate of every column at mass 1."""
        return ibp_log_unit_rates(Z)


@dataclass(frozen=True, eq=False)
class LinkedProcess:
    """The dd-IBP over the rows of a proximity."""

    proximity: Proximity

    exchangeable = False
    has_links = True

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.proximity.n_rows

    @property
    def sequential(self) -> bool:
        """Whether no row links to a later one."""
        return self.proximity.sequential

    @property
    def rows(self) -> CompressedRows:
        """Weights as compiled code reads them."""
        return self.proximity.rows

    @cached_property
    def log_h(self) -> FloatArray:
        """Log normalisers."""
        return np.log(self.proximity.normalisers)

    @cached_property
    def unit_total(self) -> float:
        """Expected number of columns at mass 1."""
        return float(np.exp(-self.log_h).sum())

    @cached_property
    def singleton_rates(self) -> FloatArray:
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

    def draw_links(self, z: NDArray[np.uint8], owner: int, links: NDArray[np.int32], rng: np.random.Generator) -> None:
        """Fill in links of one column given its owner."""
        _reach.draw_column_links(self.proximity, z, owner, links, rng)

    def draw_owner(self, z: NDArray[np.uint8], rng: np.random.Generator) -> int:
        """Draw the owner of a column."""
        return _reach.draw_owner(self.proximity, z.astype(bool), rng)


Process = ExchangeableProcess | LinkedProcess
