"""What came out of a run: draws, averages over them, and how far to trust them."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddibp import _check, registry, summaries
from ddibp.sampling.diagnostics import Diagnostics, diagnose
from ddibp.sampling.extras import has_extras, unpack_extras
from ddibp.sampling.store import Arrays, Folder, Store, join_parts, open_saved

if TYPE_CHECKING:
    import xarray as xr

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_NEVER = (0, 0, 0.0)


class Sample(NamedTuple):
    """A stored draw: Z, the numbers by name, and what else the chain kept of it, such as lenders."""

    Z: BoolArray
    numbers: dict[str, float]
    extras: Arrays


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

    Of a run with a checkpoint, matrices are read from its folder when they are asked for. After an interruption some
    chains may have more draws than others: averages use all of them; what has a row for every chain (`data`,
    `n_features`, `diagnostics`) uses as many as the shortest has. Chains without draws are left out.

    Attributes
    ----------
    observed : ndarray of float, shape (n_rows, n_outputs)
        The data, NaN where missing.
    missing : ndarray of bool, shape (n_rows, n_outputs)
        Where.
    n_chains, n_draws : int
        Number of chains, and of draws of the shortest.
    context : dict of str to ndarray
        What was given beside the data: ``covariates`` and ``groups``, where there are any that are plain arrays.
    settings : dict
        Prior, likelihood and whatever else the sampler says about itself.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import IBP, LinearGaussian, sample_posterior
    >>> X = np.array([[2.0, 0.0], [2.1, 0.1], [-0.1, np.nan]])
    >>> posterior = sample_posterior(IBP(1.0), LinearGaussian(0.1, 2.0), X, draws=100, tune=20, chains=2)
    >>> posterior.n_chains, posterior.n_draws, posterior.map().Z[:, 0].astype(int)
    (2, 100, array([1, 1, 0]))
    >>> posterior.likelihood
    LinearGaussian(sigma_x=0.1, sigma_w=2.0, collapsed=True)
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        data = store.read("data")
        if data is None:
            raise ValueError(f"{store.files.where('data')} is missing. Restore it, or run again with this checkpoint.")
        self.observed: FloatArray = data["observed"]
        self.missing: BoolArray = data["missing"]
        self.context: dict[str, NDArray[Any]] = {
            name.removeprefix("context."): array for name, array in data.items() if name.startswith("context.")
        }
        self.settings: dict[str, Any] = store.manifest["settings"]
        saved = {chain: store.state(chain) for chain in range(store.manifest["chains"])}
        self._states: dict[int, Arrays] = {
            c: state for c, state in saved.items() if state is not None and state["draws"]
        }
        if not self._states:
            raise ValueError(f"{store.files.where()} holds no draws yet. Go on with the run first.")
        light = {c: join_parts([_scalars_of(part) for part in self._parts_of(c)]) or {} for c in self._states}
        self.n_chains = len(light)
        self.n_draws = min(len(arrays["n_features"]) for arrays in light.values())
        self._scalars = {
            name.removeprefix("scalar."): np.stack([arrays[name][: self.n_draws] for arrays in light.values()])
            for name in next(iter(light.values()))
        }

    @cached_property
    def prior(self) -> Any:
        """The prior of the features."""
        return registry.restore(self.settings["prior"])

    @cached_property
    def likelihood(self) -> Any:
        """The likelihood of the data."""
        return registry.restore(self.settings["likelihood"])

    @property
    def plan(self) -> dict[str, Any]:
        """What was asked for: draws, tune, thin, chains and seed, and the version that did it."""
        return {key: self._store.manifest[key] for key in ("version", "draws", "tune", "thin", "chains", "seed")}

    def _parts_of(self, chain: int) -> Iterator[Arrays]:
        return self._store.parts(chain, self._states[chain])

    def _parts(self) -> Iterator[Arrays]:
        for chain in self._states:
            yield from self._parts_of(chain)

    @cached_property
    def _summaries(self) -> list[summaries.ChainSummary]:
        return [summaries.ChainSummary.from_arrays(state) for state in self._states.values()]

    def draws(self, chain: int | None = None) -> Iterator[BoolArray]:
        """Return all stored Z one after the other, each of shape (n_rows, its number of features), chain by chain.

        With ``chain``, from 0 to n_chains - 1, only those of one chain.
        """
        n_rows = len(self.observed)
        for part in self._parts() if chain is None else self._parts_of(list(self._states)[chain]):
            start = 0
            for n_features in part["n_features"]:
                shape = n_rows, int(n_features)
                stop = start + (shape[0] * shape[1] + 7) // 8
                yield np.unpackbits(part["Z"][start:stop], count=shape[0] * shape[1]).reshape(shape).astype(bool)
                start = stop

    def samples(self, most: int | None = None) -> Iterator[tuple[BoolArray, dict[str, float]]]:
        """Return Z and the numbers (alpha, sigma_x, ...) of stored draws: of all, or of so many, evenly spaced."""
        total = sum(int(state["draws"]) for state in self._states.values())
        return ((sample.Z, sample.numbers) for sample in self._some(np.arange(total), most))

    def full_samples(self, most: int | None = None) -> Iterator[Sample]:
        """Return stored draws with all that predictions need: of all, or of so many, evenly spaced.

        Under priors whose chains keep more than Z (lenders of a dHBP, Gaussian values of a dIBP) these are the draws of
        which imputed values are stored, see `imputation_interval`.
        """
        stride = max(int(state["stride"]) for state in self._states.values())
        stride = stride if has_extras(next(self._parts())) else 1
        whole = np.concatenate([np.arange(int(state["draws"])) % stride == 0 for state in self._states.values()])
        return self._some(np.flatnonzero(whole), most)

    def _some(self, numbers_of_draws: NDArray[np.intp], most: int | None) -> Iterator[Sample]:
        """Return these draws, or so many of them, evenly spaced."""
        if most is not None and _check.count("most", most, low=1) < len(numbers_of_draws):
            places = np.linspace(0, len(numbers_of_draws) - 1, most).round().astype(int)
            numbers_of_draws = numbers_of_draws[places]
        wanted = np.zeros(sum(int(state["draws"]) for state in self._states.values()), dtype=bool)
        wanted[numbers_of_draws] = True
        scalars = (
            {name.removeprefix("scalar."): float(array[place]) for name, array in _scalars_of(part).items()}
            for part in self._parts()
            for place in range(len(part["n_features"]))
        )
        beside = (extras for part in self._parts() for extras in unpack_extras(part))
        for chosen, Z, numbers, extras in zip(wanted, self.draws(), scalars, beside, strict=True):
            if chosen:
                yield Sample(Z, numbers, extras)

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
        low, high = np.quantile(self.imputation_draws(), [tail, 1.0 - tail], axis=0)
        return low, high

    def imputation_draws(self, most: int | None = None) -> FloatArray:
        """Return stored draws of the missing entries, of shape (n, n_missing): all, or so many, evenly spaced."""
        stride = max(int(state["stride"]) for state in self._states.values())
        kept = np.concatenate([part["imputed"][part["imputed_draws"] % stride == 0] for part in self._parts()])
        if most is None or _check.count("most", most, low=1) >= len(kept):
            return kept
        return kept[np.linspace(0, len(kept) - 1, most).round().astype(int)]

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
        totals = {name: np.sum([moves.get(name, _NEVER) for moves in self._moves], axis=0) for name in self._move_names}
        moves = {name: (int(tried), int(accepted), float(s)) for name, (tried, accepted, s) in totals.items()}
        return diagnose(self._scalars, moves)

    @cached_property
    def _moves(self) -> list[dict[str, list[float]]]:
        """Times tried, times accepted and seconds of every kind of move, chain by chain."""
        return [
            dict(zip(state["moves.names"].tolist(), state["moves.figures"].tolist(), strict=True))
            for state in self._states.values()
        ]

    @property
    def _move_names(self) -> list[str]:
        return list(dict.fromkeys(name for moves in self._moves for name in moves))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the run and what to do, in sentences; empty if nothing is."""
        plan = self._store.manifest
        if self.n_chains == plan["chains"] and self.n_draws >= plan["draws"]:
            return self._diagnostics.warnings
        unfinished = (
            f"The run is unfinished: {self.n_chains} of {plan['chains']} chains have draws, the shortest has "
            f"{self.n_draws} of {plan['draws']}. Run again with the same checkpoint to complete it."
        )
        return (unfinished, *self._diagnostics.warnings)

    @cached_property
    def data(self) -> xr.DataTree:
        """Numbers of every draw, statistics of the moves, and the data, in the layout of ArviZ."""
        import xarray as xr

        names = self._move_names
        moves = np.array([[chain.get(name, _NEVER) for name in names] for chain in self._moves]).reshape(
            -1, len(names), 3
        )
        tried, accepted, seconds = (moves[:, :, i] for i in range(3))
        speed = [float(state["sweeps"] / state["seconds"]) for state in self._states.values()]
        chains = {"chain": list(self._states)}
        draws = chains | {"draw": np.arange(self.n_draws)}
        attributes = {key: self._store.manifest[key] for key in ("version", "tune", "thin")}
        attributes |= {"inference_library": "ddibp", "settings": json.dumps(self.settings)}
        groups = {
            "posterior": xr.Dataset({k: (("chain", "draw"), x) for k, x in self._scalars.items()}, draws, attributes),
            "sample_stats": xr.Dataset(
                {
                    "tried": (("chain", "move"), tried.astype(np.int64)),
                    "accepted": (("chain", "move"), accepted.astype(np.int64)),
                    "acceptance": (("chain", "move"), accepted / np.maximum(tried, 1)),
                    "seconds": (("chain", "move"), seconds),
                    "sweeps_per_second": ("chain", speed),
                },
                chains | {"move": np.array(names, dtype=object)},
            ),
            "observed_data": xr.Dataset({"X": (("row", "output"), self.observed)}),
        }
        tree = xr.DataTree.from_dict(groups)
        tree.attrs = attributes
        return tree

    def to_arviz(self) -> Any:
        """Return what the installed ArviZ works on: an InferenceData before version 1, a DataTree since."""
        try:
            arviz: Any = importlib.import_module("arviz")
        except ImportError:
            raise ImportError("to_arviz needs ArviZ, which is not installed: pip install arviz.") from None
        convert = getattr(getattr(arviz, "InferenceData", None), "from_datatree", None)
        return self.data.copy() if convert is None else convert(self.data)

    def to_html(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write a report that a colleague can open, and return its path; see `ddibp.report.write_report`."""
        return importlib.import_module("ddibp.report").write_report(self, path, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the draws into a new folder, for `ddibp.load_posterior`, or to be gone on with as a checkpoint."""
        target = Path(path).absolute()
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise FileExistsError(f"path must be a new or an empty folder, but {target} is there and holds something.")
        draft = target.with_name(f".unfinished-{os.getpid()}-{target.name}")
        files = Folder(draft)
        files.write_manifest(self._store.manifest)
        copy = Store(files, self._store.manifest)
        copy.write("data", self._store.read("data") or {})
        for chain, state in self._states.items():
            copy.append(chain, 0, join_parts(list(self._parts_of(chain))), {**state, "parts": np.array(1)})
        if target.exists():
            target.rmdir()
        draft.rename(target)

    def __repr__(self) -> str:
        n_rows, n_outputs = self.observed.shape
        law = self.n_features_law()
        doubts = len(self.warnings)
        return (
            f"<Posterior of {n_rows} x {n_outputs} data, {int(self.missing.sum())} missing: {self.n_chains} chains of "
            f"{self.n_draws} draws, most often {max(law, key=law.__getitem__)} features (from {min(law)} to {max(law)})"
            f"{f', {doubts} warnings' if doubts else ''}>"
        )


def load_posterior(path: str | os.PathLike[str]) -> Posterior:
    """Read the folder of a run, running or not, or of a saved posterior.

    Parameters
    ----------
    path : path
        What was given to `Posterior.save`, or as ``checkpoint`` to `ddibp.sample_posterior`.

    Examples
    --------
    >>> import tempfile, ddibp
    >>> folder = tempfile.mkdtemp()
    >>> posterior = ddibp.sample_posterior(
    ...     ddibp.IBP(1.0), ddibp.LinearGaussian(1.0, 1.0), [[1.0], [2.0]], draws=10, tune=0, checkpoint=folder
    ... )
    >>> ddibp.load_posterior(folder).n_draws
    10
    """
    return Posterior(open_saved(path))


def _scalars_of(part: Arrays) -> Arrays:
    return {key: value for key, value in part.items() if key == "n_features" or key.startswith("scalar.")}
