r"""Dishes of correlated Gaussian rows: row i takes dish k if :math:`h_{ik} < \Phi^{-1}(b_k)`; exact draws of them.

The vectors :math:`h_{\cdot k} \sim N(0, C)` are independent over dishes and :math:`\{b_k\}` is a Poisson process of
intensity :math:`\alpha\, db/b` on (0, 1). The dishes that row i takes have :math:`b` uniform on (0, 1) and number
Poisson(:math:`\alpha`), because :math:`P(h_i < \Phi^{-1}(b)) = b`.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

_ENTRIES_PER_BLOCK = 4_000_000


@dataclass(frozen=True, eq=False)
class Field:
    """Standard Gaussian rows with given correlations; what is costly is computed once, when it is asked for.

    Rows with correlation 1 are one and the same: ``distinct`` has the first of each kind, and row i is a copy of
    ``distinct[kind[i]]``.

    Attributes
    ----------
    matrix : ndarray of shape (n_rows, n_rows)
        The correlations C.
    """

    matrix: FloatArray

    def __post_init__(self) -> None:
        self.matrix.flags.writeable = False

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return len(self.matrix)

    @functools.cached_property
    def distinct(self) -> NDArray[np.int64]:
        """The first row of each kind, in order."""
        return np.unique(self._first_copies)

    @functools.cached_property
    def kind(self) -> NDArray[np.int64]:
        """Position in ``distinct`` of the row that each row is a copy of."""
        return np.searchsorted(self.distinct, self._first_copies)

    @functools.cached_property
    def _first_copies(self) -> NDArray[np.int64]:
        first = np.argmax(self.matrix == 1.0, axis=1)
        while not np.array_equal(first[first], first):  # rounded correlations may form chains
            first = first[first]
        return first

    @functools.cached_property
    def distinct_matrix(self) -> FloatArray:
        """Correlations of the distinct rows."""
        if len(self.distinct) == self.n_rows:
            return self.matrix
        return np.ascontiguousarray(self.matrix[np.ix_(self.distinct, self.distinct)])

    @functools.cached_property
    def independent(self) -> bool:
        """Whether distinct rows are independent."""
        return not np.any(self.distinct_matrix - np.eye(len(self.distinct)))

    @functools.cached_property
    def distinct_factor(self) -> FloatArray:
        """A matrix F with F F' = C over distinct rows, where C may be singular: nothing is added to its diagonal."""
        from scipy.linalg import eigh

        try:
            return np.asarray(np.linalg.cholesky(self.distinct_matrix), dtype=np.float64)
        except np.linalg.LinAlgError:
            values, vectors = eigh(self.distinct_matrix)
            return np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    @functools.cached_property
    def factor(self) -> FloatArray:
        """A matrix F with F F' = C; its rows are the same for copies."""
        return self.distinct_factor[self.kind]

    @functools.cached_property
    def inverse(self) -> FloatArray:
        """The inverse of C; rows that others determine make C singular, which is an error."""
        from scipy.linalg import cho_factor, cho_solve

        singular = len(self.distinct) < self.n_rows
        try:
            cholesky = None if singular else cho_factor(self.matrix, lower=True)
        except np.linalg.LinAlgError:
            cholesky = None
        if cholesky is None:
            raise ValueError(
                "nugget must be positive, 1e-6 of the variance say, where some rows are determined by others (equal "
                "covariates, or a very smooth kernel): their correlations have no inverse."
            )
        return np.asarray(cho_solve(cholesky, np.eye(self.n_rows)))

    def __repr__(self) -> str:
        return f"Field(n_rows={self.n_rows})"


class Dishes(NamedTuple):
    r"""Dishes with what decides who takes them.

    Attributes
    ----------
    b : ndarray of shape (n_dishes,)
        Weights in (0, 1].
    h : ndarray of shape (n_rows, n_dishes)
        Gaussian values; a row takes the dish where they are below :math:`\Phi^{-1}(b)`.
    z : ndarray of bool, shape (n_rows, n_dishes)
        Who takes it.
    """

    b: FloatArray
    h: FloatArray
    z: NDArray[np.bool_]


def draw_taken(field: Field, rows: NDArray[np.int64], rng: np.random.Generator) -> Dishes:
    r"""Draw a dish taken by row r for every r in ``rows``: b is uniform, and :math:`\Phi(h_r)` is uniform below b.

    Given :math:`h_r`, the other rows are :math:`g + C_{\cdot r}(h_r - g_r)` with an unconditional draw g (Matheron's
    rule), so that all dishes together cost one product of matrices.
    """
    from scipy.special import ndtri

    taker = field.kind[rows]
    dish = np.arange(len(rows))
    b = 1.0 - rng.random(len(rows))
    threshold = ndtri(b)
    taken = ndtri(b * (1.0 - rng.random(len(rows))))
    h = field.distinct_factor @ rng.standard_normal((field.distinct_factor.shape[1], len(rows)))
    h += field.distinct_matrix[:, taker] * (taken - h[taker, dish])
    h[taker, dish] = taken
    z = h < threshold
    z[taker, dish] = True
    if len(field.distinct) < field.n_rows:
        return Dishes(b, h[field.kind], z[field.kind])
    return Dishes(b, h, z)


def draw_new(field: Field, rows: NDArray[np.int64], rng: np.random.Generator) -> Dishes:
    """Draw dishes taken by ``rows``, which ascend, and keep those that no earlier row takes."""
    per_block = max(1, _ENTRIES_PER_BLOCK // field.n_rows)
    kept = []
    for start in range(0, max(len(rows), 1), per_block):
        block = rows[start : start + per_block]
        dishes = draw_taken(field, block, rng)
        new = np.argmax(dishes.z, axis=0) == block
        kept.append(Dishes(dishes.b[new], dishes.h[:, new], dishes.z[:, new]))
    return Dishes(*(np.concatenate(parts, axis=-1) for parts in zip(*kept, strict=True)))


def shared_part(correlation: ArrayLike) -> FloatArray:
    r"""Return :math:`J(\varrho) = \int_0^1 b^{-1}\,\Phi_2(\Phi^{-1}b, \Phi^{-1}b; \varrho)\,db`, to rounding error.

    With the angle :math:`\theta = \tfrac12 \arccos\varrho`, Owen's form of the bivariate normal law gives

    .. math:: J = 1 - \frac1\pi \int_0^\theta \int_{-\infty}^\infty
              \frac{\phi(\tau)}{\Phi(\tau)} e^{-\tau^2 / (2\cos^2 u)} \,d\tau \,du,

    a smooth function of the angle, so that a polynomial of degree 40 has all digits.
    :math:`J(-1) = 1 - \log 2`, :math:`J(0) = 1/2`, :math:`J(1) = 1`.
    """
    angle = 0.5 * np.arccos(np.asarray(correlation, dtype=np.float64))
    return np.where(angle == 0.0, 1.0, _shared_by_angle()(angle))


@functools.cache
def _shared_by_angle() -> Any:
    from numpy.polynomial import Chebyshev

    s = np.arange(-40, 41) * 0.25  # the trapezoidal rule has all digits: analytic, Gaussian tails
    weights = 0.25 * np.exp(-0.5 * s**2)

    def inner(u: FloatArray) -> FloatArray:
        cosine = np.cos(u)[:, None]
        return np.asarray((cosine * mills(cosine * s) * weights).sum(axis=1))

    slope = Chebyshev.interpolate(inner, 40, domain=[0.0, 0.5 * math.pi])
    return 1.0 - slope.integ(lbnd=0.0) / math.pi


def mills(x: Any) -> Any:
    r"""Return :math:`\phi(x)/\Phi(x)` without loss in the tails."""
    from scipy.special import erfcx

    return math.sqrt(2.0 / math.pi) / erfcx(np.asarray(x) / -math.sqrt(2.0))
