"""Priors on positive parameters: a parameter given as a ``Gamma`` is learned, one given as a number is fixed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ddibp import _check
from ddibp._spec import Spec


@dataclass(frozen=True)
class Gamma(Spec):
    r"""Gamma distribution with density :math:`b^a x^{a-1} e^{-bx} / \Gamma(a)` on :math:`x > 0`.

    Parameters
    ----------
    shape : float
        :math:`a > 0`.
    rate : float
        :math:`b > 0`; the mean is :math:`a / b`.

    Examples
    --------
    >>> from ddibp import Gamma
    >>> Gamma(shape=2.0, rate=0.5).mean
    4.0
    """

    shape: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        _check.number("shape", self.shape, low=0.0, open_low=True)
        _check.number("rate", self.rate, low=0.0, open_low=True)

    @property
    def mean(self) -> float:
        """Mean :math:`a / b`."""
        return self.shape / self.rate

    def sample(self, rng: np.random.Generator) -> float:
        """Draw one value."""
        return float(rng.gamma(self.shape, 1.0 / self.rate))

    def logpdf(self, x: float) -> float:
        """Log density at ``x``; minus infinity where ``x`` is not positive."""
        if x <= 0.0:
            return -math.inf
        return (
            self.shape * math.log(self.rate) - math.lgamma(self.shape) + (self.shape - 1) * math.log(x) - self.rate * x
        )

    def log_poisson_evidence(self, events: int, exposure: float) -> float:
        r"""Log of :math:`\int x^K e^{-x \Lambda}\, \mathrm{Gamma}(x; a, b)\, dx` for ``events`` K and ``exposure`` Λ.

        This is what integrating the mass :math:`\alpha` out of a feature process leaves.
        """
        a, b = self.shape, self.rate
        return a * math.log(b) - math.lgamma(a) + math.lgamma(a + events) - (a + events) * math.log(b + exposure)
