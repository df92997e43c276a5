r"""The law of the number of shared features :math:`R_{ij}` under a prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddibp import _check
from ddibp.hyperpriors import Gamma

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SharingLaw:
    r"""For every pair of rows, :math:`R_{ij}` is a mixture of Poissons; nearly always of one.

    Attributes
    ----------
    unit_means : ndarray of shape (n_components, n_rows, n_rows)
        Mean of each component at mass 1; :math:`S_{ij}` for the dd-IBP.
    weights : ndarray of shape (n_components, n_rows, n_rows)
        Probability of each component.
    mass : float or Gamma
        :math:`\alpha` (:math:`\gamma` for the dHBP). A `Gamma` mass turns each Poisson into a negative binomial.
    method : str
        How the means were computed: ``"closed form"``, ``"recursion"``, ``"enumeration"`` or ``"monte carlo"``.
    standard_error : ndarray of shape (n_rows, n_rows) or None
        Of ``unit_means`` where they were estimated by Monte Carlo; None where they are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import DDIBP, Exponential
    >>> law = DDIBP(Exponential(np.log(2.0)), alpha=3.0, sequential=True).sharing([0.0, 1.0])
    >>> law.method, law.mean()
    ('recursion', array([[3., 1.],
           [1., 3.]]))
    >>> law.pmf([0, 1, 2], 0, 1).round(4)
    array([0.3679, 0.3679, 0.1839])
    """

    unit_means: FloatArray
    weights: FloatArray
    mass: float | Gamma
    method: str
    standard_error: FloatArray | None = None

    @classmethod
    def poisson(
        cls, unit_mean: FloatArray, mass: float | Gamma, *, method: str, standard_error: FloatArray | None = None
    ) -> Self:
        """Return the law with one Poisson component."""
        return cls(unit_mean[None], np.ones((1, *unit_mean.shape)), mass, method, standard_error)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.unit_means.shape[-1]

    def mean(self) -> FloatArray:
        r"""Return :math:`E[R_{ij}]`."""
        return np.asarray(self._mass_moments()[0] * (self.weights * self.unit_means).sum(axis=0))

    def variance(self) -> FloatArray:
        r"""Return the variance of :math:`R_{ij}`."""
        second = self._mass_moments()[1]
        return np.asarray(self.mean() + second * (self.weights * self.unit_means**2).sum(axis=0) - self.mean() ** 2)

    def pmf(self, counts: ArrayLike, i: int, j: int) -> FloatArray:
        r"""Return :math:`P(R_{ij} = r)` for every r in ``counts``."""
        from scipy.special import gammaln, xlogy

        r = np.asarray(counts)
        if not np.isin(r.dtype.kind, ["i", "u"]) or (r < 0).any():
            raise ValueError(f"counts must be whole numbers of at least 0, got {counts!r}.")
        result = np.zeros(r.shape)
        for weight, s in zip(self.weights[:, i, j], self.unit_means[:, i, j], strict=True):
            if isinstance(self.mass, Gamma):
                a, b = self.mass.shape, self.mass.rate
                log_p = gammaln(a + r) - math.lgamma(a) + a * math.log(b / (b + s)) + xlogy(r, s / (b + s))
            else:
                log_p = xlogy(r, self.mass * s) - self.mass * s
            result += weight * np.exp(log_p - gammaln(r + 1))
        return result

    def limiting_fractions(self) -> tuple[FloatArray, FloatArray]:
        r"""Return (values, probabilities) of the limit of :math:`R_{ij}/R_i` as the mass grows, a component each.

        For a single Poisson the limit is the constant :math:`S_{ij}/S_{ii}`; for a mixture it is random.
        """
        own = np.einsum("cii,cii->i", self.weights, self.unit_means)
        return self.unit_means / own[None, :, None], self.weights

    def sample(self, i: int, j: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        r"""Draw ``size`` values of :math:`R_{ij}`."""
        size = _check.count("size", size)
        component = rng.choice(len(self.weights), size=size, p=self.weights[:, i, j])
        mass: Any = rng.gamma(self.mass.shape, 1 / self.mass.rate, size) if isinstance(self.mass, Gamma) else self.mass
        return np.asarray(rng.poisson(mass * self.unit_means[component, i, j]))

    def _mass_moments(self) -> tuple[float, float]:
        if isinstance(self.mass, Gamma):
            return self.mass.mean, self.mass.mean**2 + self.mass.mean / self.mass.rate
        return float(self.mass), float(self.mass) ** 2
