r"""New rows of a dIBP: their Gaussian values given those of the fitted rows.

With c the correlations of row \* with the fitted rows, and the threshold and values of feature k as they are in the
draw, :math:`h_{*k} \sim N(c^T C^{-1} h_k,\, s^2)`, :math:`s^2 = 1 - c^T C^{-1} c`, and row \* has the feature with
probability :math:`\Phi((\tau_k - c^T C^{-1} h_k)/s)`. The dIBP is marginally consistent: this is its own law.

Fresh features number Poisson with mean :math:`\alpha E[(\log \Phi(M) - \log \Phi(h_*))_+]`, M the least of the fitted
values: dishes whose weight b lies between :math:`\Phi(h_*)` and :math:`\Phi(M)`. Given the fitted values,

.. math:: E[(\log \Phi(M) - \log \Phi(h_*))_+]
          = \int_{-\infty}^M \frac{\phi(x)}{\Phi(x)} \Phi\Bigl(\frac{x - c^T C^{-1} h}{s}\Bigr) dx

is an integral of Gauss and Legendre; over the fitted values this is averaged over 256 draws, which use the same random
numbers for every row and draw.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ddibp._kernel import kernel
from ddibp.priors import _covariance
from ddibp.priors._columns import mean_mass
from ddibp.priors._latent_kernels import log_cdf
from ddibp.priors._newcomers import BoolArray, Extras, FloatArray, Inheritance, Numbers, Places, kept

if TYPE_CHECKING:
    from ddibp.priors.dibp import DIBP

_DRAWS = 256
_NODES = 10
_FAR = 5.0  # standard deviations beyond which the normal law is 0 or 1
_LARGEST = 1.0 - 1e-12  # sums over features need odds
_NUMBERS_AT_ONCE = 2_000_000
_ROOT = math.sqrt(0.5)


class LatentNewcomers:
    """New rows with what depends on the parameters of the kernel alone, which is kept while these stay."""

    def __init__(self, prior: DIBP, places: Places) -> None:
        self.prior, self.places = prior, places
        self.new, self.old = places.points()
        self.together = places.same_group()
        self._known: tuple[Any, FloatArray, FloatArray, FloatArray, FloatArray] | None = None

    def inheritance(self, Z: BoolArray, numbers: Numbers, extras: Extras) -> Inheritance:  # noqa: ARG002
        """Return one component a row."""
        from scipy.linalg import solve_triangular
        from scipy.special import ndtr

        marks = np.asarray(kept(extras, "marks"), dtype=np.float64)
        factor, loadings, sd, rate = self._given(numbers)
        mean = loadings @ solve_triangular(factor, marks[:, 1:].T, lower=True)
        p = np.minimum(ndtr((marks[:, 0] - mean) / sd[:, None]), _LARGEST)
        return Inheritance.plain(p, numbers["alpha"] * rate)

    def _given(self, numbers: Numbers) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        r"""Return a factor L of C, :math:`c^T L^{-T}`, s, and the rates of fresh features at mass 1."""
        from scipy.linalg import solve_triangular

        parameters = {name: numbers[name] for name in self.prior.learned}
        if self._known is None or self._known[0] != parameters:
            prior = self.prior.set_params(**parameters)
            factor = prior.process(self.old, groups=self.places.fitted.get("groups")).factor  # type: ignore[attr-defined]
            scales = [mean_mass(value) for value in (prior.length_scale, prior.variance, prior.nugget)]
            cross = _covariance.cross_correlation(prior.kernel, self.new, self.old, *scales)
            if self.together is not None:
                cross[~self.together] = 0.0
            loadings = solve_triangular(factor, cross.T, lower=True).T
            sd = np.sqrt(np.maximum(1.0 - np.square(loadings).sum(axis=1), 1e-12))
            self._known = parameters, factor, loadings, sd, fresh_rates(factor, loadings, sd)
        return self._known[1:]


def fresh_rates(factor: FloatArray, loadings: FloatArray, sd: FloatArray) -> FloatArray:
    """Return the expected number of dishes at mass 1 that every new row takes and no fitted row does."""
    white = np.random.default_rng(0).standard_normal((len(factor), _DRAWS // 2))
    white = np.hstack([white, -white])
    least = (factor @ white).min(axis=0)
    x, weights = np.polynomial.legendre.leggauss(_NODES)
    rates = np.empty(len(loadings))
    width = max(1, _NUMBERS_AT_ONCE // _DRAWS)
    for begin in range(0, len(loadings), width):
        block = slice(begin, begin + width)
        _average_gaps(least, loadings[block] @ white, sd[block], x, weights, rates[block])
    return rates


@kernel
def _average_gaps(least: Any, means: Any, sd: Any, x: Any, weights: Any, rates: Any) -> None:
    """Fill the averages of the integral above, a row at a time."""
    for i in range(rates.size):
        total = 0.0
        for d in range(least.size):
            m, s = means[i, d], sd[i]
            if least[d] < m - _FAR * s:
                continue
            end = min(least[d], m + _FAR * s)
            if least[d] > end:
                total += log_cdf(least[d]) - log_cdf(end)
            start = m - _FAR * s
            half = 0.5 * (end - start)
            for q in range(x.size):
                point = start + half * (1.0 + x[q])
                total += half * weights[q] * 0.5 * math.erfc((m - point) / s * _ROOT) * _hazard(point)
        rates[i] = total / least.size


@kernel
def _hazard(x: float) -> float:
    r"""Return :math:`\phi(x)/\Phi(x)`."""
    if x < -30.0:
        return -x
    return math.sqrt(2.0 / math.pi) * math.exp(-0.5 * x**2) / math.erfc(-x * _ROOT)
