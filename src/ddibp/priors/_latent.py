r"""The dIBP as chains see it: every column carries its threshold :math:`\tau = \Phi^{-1}(b)` and its Gaussian values h.

The values are a smooth part and independent noise, :math:`h = g + \epsilon`, with covariances :math:`C - D` and the
diagonal D. Single rows are flipped given the other rows' values; thresholds and smooth parts are moved with the noise
integrated out.

**Parameters of the kernel** change the expected number of columns, which has no closed form. They are moved given all
dishes with :math:`b > \varepsilon`, those that nobody takes included, which are drawn anew each time: they number
Poisson(:math:`\alpha \log(1/\varepsilon)`). Leaving out rarer dishes changes the law of the features by at most
:math:`N \alpha \varepsilon` in total variation, here :math:`10^{-9} \alpha`. There are two densities, one given the
values and one given the whitened smooth parts, because a chain that knew only one of them would hardly move.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp.moves import evidence as ev
from ddibp.priors import _latent_kernels as kernels
from ddibp.priors import _probit
from ddibp.priors._columns import log_matrix_probability
from ddibp.priors._marked import Dishes, MarkedProcess
from ddibp.priors._probit import Field
from ddibp.priors._process import FloatArray

_RUNS = 16
_LARGEST = 8.2  # thresholds beyond which the normal law is 1 to rounding


@dataclass(frozen=True, eq=False)
class LatentProcess(MarkedProcess):
    """Columns of the dIBP over the rows of a Gaussian field; ``noise`` is the diagonal of D."""

    field: Field
    noise: FloatArray

    refreshes = True
    kept = ("marks",)

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return self.field.n_rows

    @property
    def n_marks(self) -> int:
        """A threshold, and a value per row."""
        return self.n_rows + 1

    @property
    def relations(self) -> tuple[NDArray[Any], ...]:
        """The correlations."""
        return (self.field.matrix,)

    @cached_property
    def log_h(self) -> FloatArray:  # type: ignore[override]
        """Zero: every row takes as many dishes."""
        return np.zeros(self.n_rows)

    @cached_property
    def factor(self) -> FloatArray:
        """The Cholesky factor of C."""
        return np.asarray(np.linalg.cholesky(self.field.matrix), dtype=np.float64)

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray]:
        """A factor of the smooth covariance, and the noise, which gives a little where the former is singular."""
        little = min(1e-8, 1e-3 * float(self.noise.min()))
        noise = self.noise - little
        return np.asarray(np.linalg.cholesky(self.field.matrix - np.diag(noise)), dtype=np.float64), noise

    def draw_taken(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Dishes:
        """Draw dishes that given rows take."""
        dishes = _probit.draw_taken(self.field, rows, rng)
        return self._dishes(rows, dishes.b, dishes.h.T)

    def _dishes(self, rows: NDArray[np.int64], b: FloatArray, h: FloatArray) -> Dishes:
        from scipy.special import ndtri

        tau = np.minimum(ndtri(b), _LARGEST)[:, None]
        return Dishes(rows, (h < tau).view(np.uint8), np.zeros((len(b), self.n_rows), np.int32), np.hstack([tau, h]))

    def flip(self, state: Any, collapsed: bool) -> int:
        """Draw features and values of single rows."""
        return kernels.sweep(
            state.rng,
            state.random_order(),
            state.lik,
            collapsed,
            state.evidence,
            state.work,
            state.marks,
            self.field.inverse,
        )

    def refresh(self, state: Any) -> int:
        """Move thresholds and smooth parts of all columns, and draw their values anew."""
        K, rng = state.n_features, state.rng
        if K == 0:
            return 0
        factor, noise = self._parts
        g = (factor @ self._whitened(state.marks[:K, 1:].T, rng)).T.copy()
        others = (factor @ rng.standard_normal((self.n_rows, K))).T.copy()
        for k in range(K):
            z = state.lik.z[k]
            kernels.rotate(rng, z, state.marks[k, 0], g[k], others[k], noise)
            state.marks[k, 0] = kernels.move_threshold(rng, z, state.marks[k, 0], g[k], noise)
            kernels.draw_given_smooth(rng, z, state.marks[k, 0], g[k], noise, state.marks[k, 1:])
        return self.n_rows * K

    def _whitened(self, h: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw the whitened smooth part of values, a column each, by Matheron's rule."""
        factor, noise = self._parts
        white = rng.standard_normal(h.shape)
        drawn = factor @ white + np.sqrt(noise)[:, None] * rng.standard_normal(h.shape)
        return np.asarray(white + factor.T @ (self.field.inverse @ (h - drawn)))

    @property
    def _least(self) -> float:
        return 0.1 / self.n_rows

    def propose(self, mass: float, rng: np.random.Generator, evidence: ev.Evidence) -> tuple[Dishes, float]:
        r"""Draw a column with b log-uniform above 1/(10 N)."""
        log_b = math.log(self._least) * rng.random()
        dish = self._dishes(np.zeros(1, np.int64), np.array([math.exp(log_b)]), np.zeros((1, self.n_rows)))
        log_ratio = kernels.grow(rng, dish.z[0], dish.marks[0, 0], dish.marks[0, 1:], False, self.factor, evidence)
        if not dish.z.any():
            return dish, -math.inf
        return dish, log_ratio + math.log(-mass * math.log(self._least))

    def reverse(self, dish: Dishes, mass: float, rng: np.random.Generator, evidence: ev.Evidence) -> float:
        """Return log(rate / density) of a column with its marks."""
        tau, h = dish.marks[0, 0], dish.marks[0, 1:]
        if kernels.log_cdf(tau) < math.log(self._least):
            return math.inf
        log_ratio = kernels.grow(rng, dish.z[0], tau, h, True, self.factor, evidence)
        return float(log_ratio + math.log(-mass * math.log(self._least)))

    # -- densities -----------------------------------------------------------------------------------------------------

    def log_prior(self, Z: NDArray[np.bool_], mass: float) -> float:
        """Return an estimate of the log probability of Z, with the same random numbers for every Z."""
        rates = np.array([self._log_unit_rate(np.ascontiguousarray(z).view(np.uint8)) for z in Z.T])
        return log_matrix_probability(Z, rates, self.unit_total, mass)

    def _log_unit_rate(self, z: NDArray[np.uint8]) -> float:
        """Estimate a log rate by runs with b at quantiles of Beta(m, N - m + 1), its law for independent rows."""
        from scipy.special import betaln, ndtri
        from scipy.stats import beta

        rng, m, n = np.random.default_rng(0), int(z.sum()), self.n_rows
        b = beta.ppf((np.arange(_RUNS) + 0.5) / _RUNS, m, n - m + 1)
        log_q = (m - 1) * np.log(b) + (n - m) * np.log1p(-b) - betaln(m, n - m + 1)
        runs = np.array([kernels.log_column(rng, z, tau, self.factor) for tau in ndtri(b)])
        logs = runs - np.log(b) - log_q
        return float(logs.max() + np.log(np.exp(logs - logs.max()).mean()))

    @cached_property
    def unit_total(self) -> float:
        r"""Estimated expected number of columns at mass 1, :math:`E[-\log \min_i \Phi(h_i)]`."""
        from scipy.special import log_ndtr

        white = np.random.default_rng(0).standard_normal((self.n_rows, 2048))
        return float(-log_ndtr((self.field.factor @ white).min(axis=0)).mean())

    def densities(
        self, make: Callable[[Mapping[str, float]], Any], state: Any
    ) -> Iterator[Callable[[Mapping[str, float]], float]]:
        """Yield the log densities of all dishes above the truncation given their values, and given whitened ones."""
        from scipy.special import ndtri

        K, rng = state.n_features, state.rng
        log_least = math.log(1e-9 / self.n_rows)
        tau = ndtri(np.exp(log_least * rng.random(rng.poisson(-state.alpha * log_least))))
        h = (self.field.factor @ rng.standard_normal((self.n_rows, tau.size))).T
        vacant = (h >= tau[:, None]).all(axis=1)
        tau = np.concatenate([state.marks[:K, 0], tau[vacant]])
        h = np.concatenate([state.marks[:K, 1:], h[vacant]])
        z = np.concatenate([state.lik.z[:K], np.zeros((int(vacant.sum()), self.n_rows), np.uint8)])

        def given_values(parameters: Mapping[str, float]) -> float:
            process = make(parameters)
            white = np.linalg.solve(process.factor, h.T)
            return float(-0.5 * np.square(white).sum() - len(h) * np.log(np.diagonal(process.factor)).sum())

        yield given_values
        white = state.process._whitened(h.T, rng)

        def given_whitened(parameters: Mapping[str, float]) -> float:
            factor, noise = make(parameters)._parts
            smooth = np.ascontiguousarray((factor @ white).T)
            return sum(kernels.log_sides(*dish, noise) for dish in zip(z, tau, smooth, strict=True))

        yield given_whitened
        factor, noise = state.process._parts
        smooth = np.ascontiguousarray((factor @ white[:, :K]).T)
        for k in range(K):
            kernels.draw_given_smooth(rng, z[k], tau[k], smooth[k], noise, state.marks[k, 1:])
