"""The AIBD with an unknown order of arrival, as chains see it: the order is hidden, and moved by shuffling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp._random import accepts
from ddibp.priors import _reach
from ddibp.priors._arrivals import arrivals, numbered_by_arrival
from ddibp.priors._process import FloatArray, LinkedProcess
from ddibp.proximity import Proximity

IntArray = NDArray[np.int64]

_TRIES = 5


@dataclass(frozen=True, eq=False)
class ArrivalProcess(LinkedProcess):
    """Columns of the AIBD given the order of arrival; ``base`` has the attractions between all rows."""

    base: Proximity
    order: IntArray

    @classmethod
    def of(cls, base: Proximity, order: IntArray) -> ArrivalProcess:
        """Return the process of rows that arrive in this order."""
        return cls(arrivals(base, order, None), base, order)

    @property
    def sequential(self) -> bool:  # type: ignore[override]
        """False: the order of arrival is not that of the rows."""
        return False

    @property
    def hidden(self) -> Mapping[str, NDArray[Any]]:
        """The order of arrival, which is uniform."""
        return {"order": self.order}

    def with_hidden(self, hidden: Mapping[str, NDArray[Any]]) -> ArrivalProcess:
        """Return the process with another order."""
        return self.of(self.base, np.asarray(hidden["order"], dtype=np.int64))

    def draw_hidden(self, rng: np.random.Generator) -> ArrivalProcess:
        """Return the process with an order drawn uniformly."""
        return self.of(self.base, rng.permutation(self.n_rows))

    @cached_property
    def _by_arrival(self) -> Proximity:
        return numbered_by_arrival(self.proximity, self.order)

    def log_unit_rates(self, Z: NDArray[np.bool_]) -> FloatArray:
        """Return the log rate of every column at mass 1, row by row in the order of arrival."""
        return _reach.log_unit_rates(self._by_arrival, np.ascontiguousarray(Z[self.order]))

    def move_hidden(
        self,
        columns: NDArray[np.uint8],
        mass: float,  # noqa: ARG002
        rng: np.random.Generator,
    ) -> tuple[ArrivalProcess, int]:
        """Shuffle the rows at a few or many places, by Metropolis-Hastings; causes are to be drawn anew."""
        process, changed, Z = self, 0, columns.T.astype(bool)
        log_rates = self.log_unit_rates(Z).sum()
        for _ in range(_TRIES if self.n_rows > 1 else 0):
            n_places = min(self.n_rows, int(np.exp(rng.uniform(np.log(2.0), np.log(self.n_rows + 1.0)))))
            places = rng.choice(self.n_rows, n_places, replace=False)
            order = process.order.copy()
            order[places] = order[rng.permutation(places)]
            proposed = self.of(self.base, order)
            proposed_rates = proposed.log_unit_rates(Z).sum()
            if accepts(rng, proposed_rates - log_rates):
                changed += int((order != process.order).sum())
                process, log_rates = proposed, proposed_rates
        return process, changed
