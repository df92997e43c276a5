"""Posteriors made to order: draws that scatter around given features, of any size, at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp import DDIBP, Exponential, Gamma, LinearGaussian, Posterior, registry
from ddibp.sampling import run

PRIOR = DDIBP(Exponential(Gamma(2.0, 4.0)), sequential=True)


class Playback:
    """A sampler that flips entries of Z at random, and now and then leaves out the last feature."""

    def __init__(
        self,
        Z: Any,
        W: Any,
        X: Any,
        *,
        covariates: Any = None,
        groups: Any = None,
        flips: float = 0.02,
        prior: Any = PRIOR,
        likelihood: Any = None,
        offset: float = 0.0,
    ) -> None:
        self.Z, self.W, self.flips, self.offset = np.asarray(Z, bool), np.asarray(W, float), flips, offset
        self.observed = np.asarray(X, float)
        self.missing = np.isnan(self.observed)
        self.n_rows, self.n_outputs = self.observed.shape
        given = {"covariates": covariates, "groups": groups}
        self.context = {name: np.asarray(value) for name, value in given.items() if value is not None}
        self.settings = {
            "prior": registry.describe(prior),
            "likelihood": registry.describe(likelihood or LinearGaussian(0.5, 1.0)),
            "data": "0123456789abcdef",
        }
        self._created = 0

    def start(self, rng: np.random.Generator) -> dict[str, Any]:
        self._created += 1
        return {"rng": rng, "chain": self._created, "Z": self.Z}

    def sweep(self, state: dict[str, Any]) -> None:
        Z = self.Z ^ (state["rng"].random(self.Z.shape) < self.flips)
        last = Z.shape[1] - int(Z.shape[1] > 1 and state["rng"].random() < 0.25)
        state["Z"], state["W"] = Z[:, :last], self.W[:last] + 0.1 * state["rng"].normal(size=self.W[:last].shape)
        state["value"] = state["rng"].normal() + self.offset * state["chain"]

    def scalars(self, state: dict[str, Any]) -> dict[str, float]:
        agreement = float((state["Z"] == self.Z[:, : state["Z"].shape[1]]).sum())
        beta = float(np.exp(0.2 * state["value"]))
        numbers = {"alpha": 2.0 + state["value"], "beta": beta, "sigma_x": 0.5, "sigma_w": 1.0}
        return numbers | {"n_features": float(state["Z"].shape[1]), "log_joint": agreement}

    def features(self, state: dict[str, Any]) -> np.ndarray:
        return state["Z"]

    def weights(self, state: dict[str, Any]) -> np.ndarray:
        return state["W"]

    def imputed(self, state: dict[str, Any]) -> np.ndarray:
        fitted = state["Z"].astype(float) @ state["W"]
        return (fitted + 0.5 * state["rng"].normal(size=fitted.shape))[self.missing]

    def move_statistics(self, _state: dict[str, Any]) -> dict[str, tuple[int, int, float]]:
        return {"shuffle": (100, 25, 3.0), "rest": (50, 50, 1.0)}

    def pack(self, _state: dict[str, Any]) -> dict[str, Any]:
        return {}

    def unpack(self, _arrays: Any) -> Any:
        raise NotImplementedError


def make_posterior(
    n: int = 60, M: int = 4, K: int = 3, *, draws: int = 40, chains: int = 2, missing: float = 0.1, **options: Any
) -> Posterior:
    """Return a posterior of runs of rows along time, features one after the other."""
    rng = np.random.default_rng(5)
    starts = np.sort(rng.integers(0, max(n - n // 3, 1), K))
    Z = (np.arange(n)[:, None] >= starts) & (np.arange(n)[:, None] < starts + max(n // 3, 1))
    W = rng.normal(size=(K, M)) * 2.0
    X = Z @ W + 0.5 * rng.normal(size=(n, M))
    X[rng.random(X.shape) < missing] = np.nan
    options = {"covariates": 1900.0 + np.arange(n)} | options
    return run(Playback(Z, W, X, **options), draws=draws, tune=0, chains=chains, seed=1, progress=False)
