"""Priors on positive parameters: a parameter given as one of these is learned, one given as a number is fixed."""

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


@dataclass(frozen=True)
class InverseGamma(Spec):
    r"""Prior of a standard deviation :math:`\sigma` whose square is inverse-gamma.

    The variance has the density :math:`b^a v^{-a-1} e^{-b/v} / \Gamma(a)` on :math:`v = \sigma^2 > 0`: the conjugate
    choice, from which `LinearGaussian` with ``collapsed=False`` draws scales directly.

    Parameters
    ----------
    shape : float
        :math:`a > 0`.
    scale : float
        :math:`b > 0`; the mean of the variance is :math:`b / (a - 1)`.

    Examples
    --------
    >>> from ddibp import InverseGamma, LinearGaussian
    >>> LinearGaussian(sigma_x=InverseGamma(3.0, 0.5), sigma_w=1.0)
    LinearGaussian(sigma_x=InverseGamma(shape=3.0, scale=0.5), sigma_w=1.0, collapsed=True)
    >>> round(InverseGamma(3.0, 0.5).mean, 4)
    0.47
    """

    shape: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check.number("shape", self.shape, low=0.0, open_low=True)
        _check.number("scale", self.scale, low=0.0, open_low=True)

    @property
    def mean(self) -> float:
        r"""Mean of :math:`\sigma`: :math:`\sqrt{b}\,\Gamma(a - 1/2)/\Gamma(a)`; infinite for :math:`a \le 1/2`."""
        if self.shape <= 0.5:
            return math.inf
        return math.sqrt(self.scale) * math.exp(math.lgamma(self.shape - 0.5) - math.lgamma(self.shape))

    def sample(self, rng: np.random.Generator) -> float:
        r"""Draw one value of :math:`\sigma`."""
        return self.given(0, 0.0, rng)

    def given(self, count: int, squares: float, rng: np.random.Generator) -> float:
        r"""Draw :math:`\sigma` given ``count`` values from :math:`N(0, \sigma^2)` with this sum of squares."""
        return math.sqrt((self.scale + 0.5 * squares) / float(rng.gamma(self.shape + 0.5 * count)))

    def logpdf(self, sigma: float) -> float:
        r"""Log density of :math:`\sigma`, which is :math:`2\sigma` times that of the variance."""
        if sigma <= 0.0:
            return -math.inf
        log_sigma = math.log(sigma)
        constant = self.shape * math.log(self.scale) - math.lgamma(self.shape) + math.log(2.0)
        return constant - (2.0 * self.shape + 1.0) * log_sigma - self.scale * math.exp(-2.0 * log_sigma)


ScalePrior = (Gamma, InverseGamma)
