"""What came out of a run: draws, averages over them, and how far to trust them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddibp import _check, summaries
from ddibp.sampling.diagnostics import Diagnostics, diagnose
from ddibp.sampling.store import Arrays, Folder, Store, join_parts, open_saved

if TYPE_CHECKING:
    import xarray as xr

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


class Estimate(NamedTuple):
    """Posterior mean and standard deviation, entry by entry."""

    mean: FloatArray
    sd: FloatArray


@dataclass(frozen=True, eq=False)
class Imputations:
    """What the missing entries may have been, in row-major order.

    Attributes
    ----------
    rows, columns : ndarray of int, shape (n_missing,)
        Where they are missing.
    mean, sd : ndarray of float, shape (n_missing,)
        Over all draws.
    low, high : ndarray of float, shape (n_missing,)
        Ends of the central interval.
    probability : float
        That of the interval.
    """

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    mean: FloatArray
    sd: FloatArray
    low: FloatArray
    high: FloatArray
    probability: float


class Posterior:
    """Draws from several chains; made by `ddibp.sample_posterior` and `ddibp.load_posterior`.

    After an interruption some chains may have more draws than others. Averages use all of them; tables with a row per
    chain (`data`, `n_features`, `diagnostics`) use as many of each as the shortest has. Chains without any are left out.

    Attributes
    ----------
    observed : ndarray of float, shape (n_rows, n_outputs)
        The data, NaN where missing.
    missing : ndarray of bool, shape (n_rows, n_outputs)
        Where.
    n_chains, n_draws : int
        Number of chains, and of draws of the shortest.
    settings : dict
        Prior, likelihood and whatever else the sampler says about itself.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        data = store.read("data")
        if data is None:
            raise ValueError(f"{store.files.where('data')} is missing. Restore it, or run again with this checkpoint.")
        self.observed: FloatArray = data["observed"]
        self.missing: BoolArray = data["missing"]
        self.settings: dict[str, Any] = store.manifest["settings"]
        saved = {chain: store.state(chain) for chain in range(store.manifest["chains"])}
        self._states: dict[int, Arrays] = {c: state for c, state in saved.items() if state is not None and state["draws"]}
        if not self._states:
            raise ValueError(f"{store.files.where('')} holds no draws yet. Go on with the run first.")
        light = {chain: join_parts([_scalars_of(part) for part in self._parts_of(chain)]) or {} for chain in self._states}
        self.n_chains = len(light)
        self.n_draws = min(len(arrays["n_features"]) for arrays in light.values())
        self._scalars = {
            name.removeprefix("scalar."): np.stack([arrays[name][: self.n_draws] for arrays in light.values()])
            for name in next(iter(light.values()))
        }

    def _parts_of(self, chain: int) -> Iterator[Arrays]:
        return self._store.parts(chain, self._states[chain])

    def _parts(self) -> Iterator[Arrays]:
        for chain in self._states:
            yield from self._parts_of(chain)

    @cached_property
    def _summaries(self) -> list[summaries.ChainSummary]:
        return [summaries.ChainSummary.from_arrays(state) for state in self._states.values()]

    def draws(self) -> Iterator[BoolArray]:
        """Return all stored Z one after the other, each of shape (n_rows, its number of features), chain by chain."""
        n_rows = len(self.observed)
        for part in self._parts():
            start = 0
            for n_features in part["n_features"]:
                bits = n_rows * int(n_features)
                stop = start + (bits + 7) // 8
                yield np.unpackbits(part["Z"][start:stop], count=bits).reshape(n_rows, -1 if bits else 0).astype(bool)
                start = stop

    @property
    def n_features(self) -> NDArray[np.int64]:
        """Number of features of each draw, of shape (n_chains, n_draws)."""
        return self._scalars["n_features"]

    def n_features_law(self) -> dict[int, float]:
        """Return the posterior probability of each number of features."""
        return summaries.features_law(self.n_features)

    def map(self) -> summaries.BestDraw:
        """Return the draw with the largest joint probability: its Z, W, log_joint, scalars, chain and draw."""
        return max((s.best for s in self._summaries if s.best is not None), key=lambda best: best.log_joint)

    def feature_probabilities(self, least_overlap: float = 0.5) -> summaries.FeatureProbabilities:
        """Look for the features of `map` in all draws and count; see `ddibp.summaries.feature_probabilities`."""
        return summaries.feature_probabilities(self.map().Z, self.draws(), least_overlap)

    def sharing(self) -> FloatArray:
        """Return E[ZZ'], the expected number of features that two rows share."""
        return summaries.expected_sharing(self.draws(), len(self.observed))

    def reconstruction(self) -> Estimate:
        """Return the mean and the standard deviation of ZW, each of shape (n_rows, n_outputs)."""
        return self._moments("reconstruction")

    def _moments(self, name: str) -> Estimate:
        first = getattr(self._summaries[0], name)
        moments = summaries.Moments(first.mean.shape)
        for summary in self._summaries:
            moments.merge(getattr(summary, name))
        return Estimate(moments.mean, moments.sd)

    def imputations(self, probability: float = 0.9) -> Imputations:
        """Return means, standard deviations and central intervals of the missing entries."""
        low, high = self.imputation_interval(probability)
        rows, columns = np.nonzero(self.missing)
        return Imputations(rows, columns, *self._moments("imputed"), low, high, float(probability))

    def imputation_interval(self, probability: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the central interval that holds each missing entry with this probability.

        Up to 20 million imputed numbers are stored, that is all draws of moderate problems. Of larger ones every
        second, fourth, eighth, ... draw is stored, evenly over the chains, but never fewer than 10 of a chain. Means
        and standard deviations always use all draws.
        """
        tail = (1.0 - _check.number("probability", probability, low=0.0, high=1.0)) / 2.0
        stride = max(int(state["stride"]) for state in self._states.values())
        kept = np.concatenate([part["imputed"][part["imputed_draws"] % stride == 0] for part in self._parts()])
        low, high = np.quantile(kept, [tail, 1.0 - tail], axis=0)
        return low, high

    def completed(self) -> FloatArray:
        """Return the data with posterior means in place of missing entries."""
        X = self.observed.copy()
        X[self.missing] = self._moments("imputed").mean
        return X

    def diagnostics(self) -> Diagnostics:
        """Return R-hat, effective sample sizes and what became of the moves; prints as a table."""
        return self._diagnostics

    @cached_property
    def _diagnostics(self) -> Diagnostics:
        moves: dict[str, tuple[int, int, float]] = {}
        for state in self._states.values():
            for name, *figures in zip(*(state[f"moves.{k}"].tolist() for k in _MOVE_COLUMNS), strict=True):
                tried, accepted, seconds = (a + b for a, b in zip(moves.get(name, (0, 0, 0.0)), figures, strict=True))
                moves[name] = (tried, accepted, seconds)
        return diagnose(self._scalars, moves)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the run and what to do, in sentences; empty if nothing is."""
        asked = self._store.manifest["draws"]
        short = ()
        if self.n_draws < asked or self.n_chains < self._store.manifest["chains"]:
            short = (f"The run is unfinished: {self.n_chains} of {self._store.manifest['chains']} chains have draws, "
                     f"the shortest {self.n_draws} of {asked}. Run again with the same checkpoint.",)
        return (*short, *self._diagnostics.warnings)
