r"""The dHBP with a finite number of dishes, as it was published: a baseline with a known bias, never the default.

With K dishes, :math:`p_k \sim \mathrm{Beta}(c_0\gamma/K, c_0(1-\gamma/K))`, rows still have :math:`\gamma` features on
average, but share too many: :math:`E[R_{ij}] = \gamma \frac{1 + c_0\gamma/K}{c_0 + 1}` where lenders differ, too much
by the factor :math:`1 + c_0\gamma/K`.

References
----------
Zhou, Yang, Sapiro, Dunson and Carin (2011), Dependent hierarchical beta process for image interpolation and denoising,
AISTATS.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp import _check, registry
from ddibp._random import side_stream
from ddibp.hyperpriors import Gamma, ScalePrior
from ddibp.likelihoods.linear_gaussian import LinearGaussian, check_data
from ddibp.moves import finite as kernels
from ddibp.priors import DHBP
from ddibp.priors._borrowing import BorrowingProcess
from ddibp.priors._columns import mean_mass
from ddibp.sampling.parameters import slice_sample

FloatArray = NDArray[np.float64]


@dataclass
class FiniteState:
    """Everything that changes in a chain; columns without features stay in it."""

    rng: np.random.Generator
    z: NDArray[np.uint8]
    atoms: FloatArray
    chances: FloatArray
    lenders: NDArray[np.int32]
    weights: FloatArray
    residuals: FloatArray
    scales: FloatArray
    statistics: dict[str, list[float]] = field(default_factory=dict)


class FiniteSampler:
    r"""Gibbs sampling of a `DHBP` with ``coupling="customer"`` and a finite number of dishes, for `ddibp.sampling.run`.

    Parameters
    ----------
    prior : DHBP
        Its mass may be learned; concentrations and decay are numbers.
    likelihood : LinearGaussian
        Weights are part of the state, whatever ``collapsed`` says.
    X : array-like of shape (n_rows, n_outputs)
        Data, NaN where missing.
    covariates : array-like or Proximity
        As for the prior.
    n_dishes : int
        K, more than the mass: the bias is of the order of :math:`c_0 \gamma / K`.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import DHBP, Exponential, LinearGaussian
    >>> from ddibp.sampling import FiniteSampler, run
    >>> X = np.array([[2.0, 0.0], [2.1, 0.1], [-0.1, np.nan]])
    >>> sampler = FiniteSampler(DHBP(Exponential(1.0), gamma=1.0), LinearGaussian(0.1, 2.0), X, [0.0, 1.0, 2.0])
    >>> run(sampler, draws=100, tune=50, chains=2).map().Z[:, 0].astype(int)
    array([1, 1, 0])
    """

    def __init__(
        self,
        prior: DHBP,
        likelihood: LinearGaussian,
        X: Any,
        covariates: Any,
        *,
        groups: Any = None,
        n_dishes: int = 50,
    ) -> None:
        if not isinstance(prior, DHBP) or prior.coupling != "customer":
            raise TypeError(f"prior must be a DHBP with coupling='customer', got {prior!r}.")
        if prior.learned:
            raise ValueError(
                f"prior must have numbers for {', '.join(prior.learned)}; the baseline learns the mass only."
            )
        self.prior, self.likelihood = prior, likelihood
        self.observed = check_data(X)
        self.missing = np.isnan(self.observed)
        self.n_rows, self.n_outputs = self.observed.shape
        self.n_dishes = _check.count("n_dishes", n_dishes, low=2)
        if not mean_mass(prior.gamma) < n_dishes:
            raise ValueError(f"n_dishes must exceed the mass {mean_mass(prior.gamma):g}, got {n_dishes}.")
        self.proximity = prior.proximity(covariates, groups=groups)
        if self.proximity.n_rows != self.n_rows:
            raise ValueError(
                f"covariates describe {self.proximity.n_rows} rows, but X has {self.n_rows}; they must match."
            )
        self.c0, self.c1 = mean_mass(prior.c0), mean_mass(prior.c1)
        self.context = {} if hasattr(covariates, "n_rows") else {"covariates": np.asarray(covariates)}

    @property
    def settings(self) -> dict[str, Any]:
        """A description by which runs are recognised."""
        rows = self.proximity.rows
        return {
            "prior": registry.describe(self.prior),
            "likelihood": registry.describe(self.likelihood),
            "schedule": [["finite", float(self.n_dishes)]],
            "proximity": float(rows.weights @ (1.0 + rows.indices)),
        }

    def start(self, rng: np.random.Generator) -> FiniteState:
        """Return a chain without features; probabilities are those of the prior."""
        spread = float(np.nanstd(self.observed)) if not self.missing.all() else 1.0
        spread = spread if spread > 0.0 else 1.0
        given = zip((self.likelihood.sigma_x, self.likelihood.sigma_w), (spread, spread), strict=True)
        scales = [value if isinstance(law, ScalePrior) else float(law) for law, value in given]  # type: ignore[arg-type]
        K, gamma = self.n_dishes, mean_mass(self.prior.gamma)
        state = FiniteState(
            rng,
            np.zeros((K, self.n_rows), np.uint8),
            np.full(K, gamma / K),
            np.empty((K, self.n_rows)),
            np.arange(self.n_rows, dtype=np.int32),
            scales[1] * rng.standard_normal((K, self.n_outputs)),
            np.where(self.missing, 0.0, self.observed),
            np.array([gamma, *scales]),
        )
        kernels.draw_chances(rng, state.z, state.lenders, state.atoms, state.chances, gamma, self.c0, self.c1)
        return state

    def sweep(self, state: FiniteState) -> None:
        """Draw features and weights, probabilities, lenders, mass and scales, each given all others."""
        begin = time.perf_counter()
        rng, (gamma, sigma_x, sigma_w) = state.rng, state.scales
        changed = kernels.sweep_dishes(
            rng,
            rng.permutation(self.n_dishes),
            state.z,
            state.chances,
            state.lenders,
            state.weights,
            state.residuals,
            ~self.missing,
            sigma_x,
            sigma_w,
        )
        self._draw_lenders(state)
        kernels.draw_chances(rng, state.z, state.lenders, state.atoms, state.chances, gamma, self.c0, self.c1)
        self._draw_numbers(state)
        record = state.statistics.setdefault("finite", [0, 0, 0.0])
        record[0] += state.z.size
        record[1] += changed
        record[2] += time.perf_counter() - begin

    def _draw_lenders(self, state: FiniteState) -> None:
        r"""Draw :math:`P(g_i = j) \propto a_{ij} \prod_k p^{*z_{ik}}_{jk} (1 - p^*_{jk})^{1 - z_{ik}}`."""
        z, logs, others = state.z.astype(float), np.log(state.chances), np.log1p(-state.chances)
        fit = z.T @ (logs - others) + others.sum(axis=0)
        rows = self.proximity.rows
        with np.errstate(divide="ignore"):
            log_weights = np.log(rows.weights)
        for i in state.rng.permutation(self.n_rows):
            part = slice(rows.indptr[i], rows.indptr[i + 1])
            candidates = rows.indices[part]
            total = log_weights[part] + fit[i, candidates]
            ladder = np.cumsum(np.exp(total - total.max()))
            place = np.searchsorted(ladder, state.rng.random() * ladder[-1], side="right")
            state.lenders[i] = candidates[min(place, candidates.size - 1)]

    def _draw_numbers(self, state: FiniteState) -> None:
        K, c0 = self.n_dishes, self.c0
        log_on, log_off = float(np.log(state.atoms).sum()), float(np.log1p(-state.atoms).sum())

        def of_mass(gamma: float) -> float:
            if gamma >= K:
                return -math.inf
            a, b = c0 * gamma / K, c0 * (1.0 - gamma / K)
            return a * log_on + b * log_off - K * (math.lgamma(a) + math.lgamma(b))

        n_observed, misfit = int((~self.missing).sum()), float((state.residuals**2).sum())
        energy, n_weights = float((state.weights**2).sum()), state.weights.size
        densities = (
            (self.prior.gamma, of_mass),
            (self.likelihood.sigma_x, lambda s: -n_observed * math.log(s) - 0.5 * misfit / s**2),
            (self.likelihood.sigma_w, lambda s: -n_weights * math.log(s) - 0.5 * energy / s**2),
        )
        for place, (law, density) in enumerate(densities):
            if isinstance(law, ScalePrior):
                start = math.log(state.scales[place])
                state.scales[place] = math.exp(slice_sample(state.rng, _along(law, density), start)[0])

    # -- what the orchestration asks (ddibp.sampling.protocol) ---------------------------------------------------------

    def features(self, state: FiniteState) -> NDArray[np.bool_]:
        """Return Z without its empty columns."""
        return np.ascontiguousarray(state.z[state.z.any(axis=1)].T).astype(bool)

    def weights(self, state: FiniteState) -> FloatArray:
        """Return the weights of these features."""
        return state.weights[state.z.any(axis=1)].copy()

    def imputed(self, state: FiniteState) -> FloatArray:
        """Return draws of the missing entries; the chain's own stream stays as it is."""
        fitted = (state.z.astype(float).T @ state.weights)[self.missing]
        return fitted + state.scales[1] * side_stream(state.rng).standard_normal(fitted.size)

    def scalars(self, state: FiniteState) -> dict[str, float]:
        """Return parameters and log densities, those of the features under the dHBP without the approximation."""
        gamma, sigma_x, sigma_w = (float(x) for x in state.scales)
        Z = self.features(state)
        exact = BorrowingProcess(self.proximity, state.lenders.copy(), self.c0, self.c1)
        log_likelihood = self.likelihood.set_params(sigma_x=sigma_x, sigma_w=sigma_w).logpdf(self.observed, Z)
        log_prior = exact.log_prior(Z, gamma)
        laws = ((self.prior.gamma, gamma), (self.likelihood.sigma_x, sigma_x), (self.likelihood.sigma_w, sigma_w))
        log_hyper = sum(law.logpdf(x) for law, x in laws if isinstance(law, ScalePrior))
        return {
            "gamma": gamma,
            "sigma_x": sigma_x,
            "sigma_w": sigma_w,
            "n_features": float(Z.shape[1]),
            "log_likelihood": log_likelihood,
            "log_prior": log_prior,
            "log_joint": log_likelihood + log_prior + log_hyper,
        }

    def move_statistics(self, state: FiniteState) -> dict[str, tuple[int, int, float]]:
        """Return entries visited and changed, and seconds."""
        return {name: (int(a), int(b), float(c)) for name, (a, b, c) in state.statistics.items()}

    def pack(self, state: FiniteState) -> dict[str, NDArray[Any]]:
        """Return the chain as plain arrays."""
        arrays = {name: np.array(value) for name, value in vars(state).items() if isinstance(value, np.ndarray)}
        side = json.dumps([state.rng.bit_generator.state, state.statistics]).encode()
        return arrays | {"rest": np.frombuffer(side, np.uint8)}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> FiniteState:
        """Return the chain that `pack` described."""
        generator, statistics = json.loads(arrays["rest"].tobytes())
        bit_generator = getattr(np.random, generator["bit_generator"])()
        bit_generator.state = generator
        values = {name: np.array(value) for name, value in arrays.items() if name != "rest"}
        return FiniteState(np.random.Generator(bit_generator), **values, statistics=statistics)


def _along(law: Gamma | Any, density: Any) -> Any:
    """Return the log density of the logarithm."""

    def along(log_value: float) -> float:
        value = math.exp(log_value)
        if not 1e-12 < value < 1e12:
            return -math.inf
        return float(density(value) + law.logpdf(value) + log_value)

    return along
