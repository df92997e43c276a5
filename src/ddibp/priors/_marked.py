r"""Processes whose columns have no closed-form rate: a chain keeps beside every column what makes its law simple.

Every row takes Poisson(:math:`\alpha`) dishes. What is asked for are draws of dishes that given rows take, and moves
follow from them: candidates of one row that nobody else takes are its singletons; candidates that an earlier row takes
are ghosts, by which the mass is drawn without the expected number of columns (G is Poisson with mean
:math:`\alpha(N - \lambda_1)`, independent of the columns).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddibp.moves import evidence as ev
from ddibp.priors._process import FloatArray, Process

_NUMBERS_AT_ONCE = 4_000_000


class Dishes(NamedTuple):
    """Columns with the rows that they were drawn for, and what chains keep beside them.

    Attributes
    ----------
    rows : ndarray of int, shape (n_dishes,)
    z : ndarray of uint8, shape (n_dishes, n_rows)
    links : ndarray of int32, shape (n_dishes, n_rows)
    marks : ndarray of float, shape (n_dishes, n_marks)
    """

    rows: NDArray[np.int64]
    z: NDArray[np.uint8]
    links: NDArray[np.int32]
    marks: FloatArray

    def where(self, chosen: NDArray[Any]) -> Dishes:
        """Return some of the dishes."""
        return Dishes(*(array[chosen] for array in self))

    def counts(self, n_rows: int) -> NDArray[np.int64]:
        """Return the number of dishes of every row."""
        return np.bincount(self.rows, minlength=n_rows)

    def take(self, row: int) -> tuple[NDArray[np.int32], FloatArray]:
        """Return links and marks of a dish of this row, which counts as taken from now on."""
        place = int(np.flatnonzero(self.rows == row)[0])
        self.rows[place] = -1
        return self.links[place], self.marks[place]


class MarkedProcess(Process):
    """A law of columns with marks."""

    has_marks: ClassVar[bool] = True
    refreshes: ClassVar[bool] = False
    sequential = True
    exchangeable = True

    @abstractmethod
    def draw_taken(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Dishes:
        """Draw a dish that row r takes, from the law of all such dishes, for every r in ``rows``."""

    @abstractmethod
    def propose(self, mass: float, rng: np.random.Generator, evidence: ev.Evidence) -> tuple[Dishes, float]:
        """Draw a column that follows the data; return it and log(rate / density)."""

    @abstractmethod
    def reverse(self, dish: Dishes, mass: float, rng: np.random.Generator, evidence: ev.Evidence) -> float:
        """Return log(rate / density) of a column that `propose` might have drawn."""

    @abstractmethod
    def densities(
        self, make: Callable[[Mapping[str, float]], Any], state: Any
    ) -> Iterator[Callable[[Mapping[str, float]], float]]:
        """Yield log densities as functions of the parameters that are learned, up to a constant and their priors.

        Each is moved by before the next is asked for; ``make`` returns the process at other parameters.
        """

    def refresh(self, state: Any) -> int:  # noqa: ARG002
        """Draw marks anew given the columns of a chain, where that is a move of its own; return the rows visited."""
        return 0

    def _candidates(self, mass: float, rng: np.random.Generator) -> Iterator[Dishes]:
        """Yield Poisson(mass) dishes taken by every row, some rows at a time."""
        counts = rng.poisson(mass, self.n_rows)
        rows = np.repeat(np.arange(self.n_rows), counts)
        width = max(1, _NUMBERS_AT_ONCE // self.n_rows)
        for begin in range(0, max(1, rows.size), width):
            yield self.draw_taken(rows[begin : begin + width], rng)

    def propose_singletons(self, mass: float, rng: np.random.Generator) -> Dishes:
        """Draw, for every row, the dishes that it alone takes, from their prior."""
        alone = [part.where(part.z.sum(axis=1, dtype=np.int64) == 1) for part in self._candidates(mass, rng)]
        return Dishes(*(np.concatenate(arrays) for arrays in zip(*alone, strict=True)))

    def draw_all(self, mass: float, rng: np.random.Generator) -> Dishes:
        """Draw all columns from the prior: the dishes of every row that no earlier row takes."""
        new = [part.where(part.z.argmax(axis=1) == part.rows) for part in self._candidates(mass, rng)]
        return Dishes(*(np.concatenate(arrays) for arrays in zip(*new, strict=True)))

    def count_ghosts(self, mass: float, rng: np.random.Generator) -> int:
        """Draw the number of dishes of all rows that some earlier row takes."""
        return sum(int((part.z.argmax(axis=1) < part.rows).sum()) for part in self._candidates(mass, rng))
