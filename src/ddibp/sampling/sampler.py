"""One iteration of the Markov chain: a schedule of named moves, each of which leaves the posterior as it is."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp import _check, registry
from ddibp._random import side_stream
from ddibp.contract import Schedule
from ddibp.hyperpriors import Gamma, ScalePrior
from ddibp.likelihoods.linear_gaussian import LinearGaussian, check_data, log_marginal
from ddibp.moves import evidence as ev
from ddibp.moves import singletons
from ddibp.priors._columns import mean_mass
from ddibp.priors._process import Process
from ddibp.priors.ibp import count_rows
from ddibp.proximity import Proximity
from ddibp.sampling import births, imputing, marked, parameters, restructure, starts, sweeps
from ddibp.sampling.state import ChainState, empty_likelihood

FloatArray = NDArray[np.float64]


class PosteriorSampler:
    """Markov chains for features, weights and parameters given data; see `ddibp.sample_posterior`."""

    def __init__(
        self,
        prior: Any,
        likelihood: LinearGaussian,
        X: Any,
        covariates: Any = None,
        *,
        groups: Any = None,
        schedule: Schedule | str = "default",
        start: str = "data",
    ) -> None:
        if not callable(getattr(prior, "process", None)):
            raise TypeError(f"prior must be one of ddibp's (IBP, DDIBP, ...), as chains need its moves; got {prior!r}.")
        if not isinstance(likelihood, LinearGaussian):
            raise TypeError(f"likelihood must be a LinearGaussian, got {likelihood!r}.")
        self.prior, self.likelihood = prior, likelihood
        self.start_from = _check.choice("start", start, ("data", "empty", "prior"))
        self.observed = check_data(X)
        self.missing = np.isnan(self.observed)
        self.n_rows, self.n_outputs = self.observed.shape
        self.groups = groups
        if not prior.takes_covariates:
            covariates = None
        elif covariates is None:
            raise ValueError(f"covariates must be given for a {type(prior).__name__}: a time, place, ... per row of X.")
        elif count_rows(covariates) != self.n_rows:
            raise ValueError(
                f"covariates describe {count_rows(covariates)} rows, but X has {self.n_rows}; they must match."
            )
        self.covariates = covariates
        self.mass: float | Gamma = getattr(prior, prior.mass_name)
        self.learned: dict[str, Gamma] = prior.learned
        if self.learned and isinstance(covariates, Proximity):
            raise ValueError("covariates must not be a ready-made Proximity when decay parameters are learned.")
        self._process = self.process({name: law.mean for name, law in self.learned.items()})
        self.moves = self._moves()
        self.schedule = self._named_schedule(schedule) if isinstance(schedule, str) else list(schedule)
        for name, frequency in self.schedule:
            if name not in self.moves:
                raise ValueError(f"schedule has no move {name!r}; for {prior!r} there are {', '.join(self.moves)}.")
            _check.number(f"schedule[{name!r}]", frequency, low=0.0)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "moves"}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self.moves = self._moves()

    # -- what the orchestration asks (ddibp.sampling.protocol) ---------------------------------------------------------

    @property
    def context(self) -> dict[str, NDArray[Any]]:
        """Covariates and groups, where they are plain arrays."""
        given = {"covariates": self.covariates, "groups": self.groups}
        arrays = {k: np.asarray(v) for k, v in given.items() if v is not None and not isinstance(v, Proximity)}
        return {name: array for name, array in arrays.items() if array.dtype.kind in "biufUS"}

    @property
    def settings(self) -> dict[str, Any]:
        """A description by which runs are recognised."""
        return {
            "prior": registry.describe(self.prior),
            "likelihood": registry.describe(self.likelihood),
            "schedule": [[name, float(frequency)] for name, frequency in self.schedule],
            "start": self.start_from,
            "data": _digest(self.observed),
            "covariates": _digest_of_process(self._process),
        }

    def start(self, rng: np.random.Generator) -> ChainState:
        """Return a new chain: from the data, from no features, or from a draw of the prior."""
        scales = self._starting_scales()
        data = np.where(self.missing, 0.0, self.observed)
        kept = np.empty((0, self.n_outputs), np.uint8)
        if not self.likelihood.collapsed and self.missing.any():
            kept = (~self.missing).astype(np.uint8)
        lik = empty_likelihood(self._reduced(data), kept, 8)
        lik.scales[:] = [*scales, self.n_outputs]
        state = ChainState(
            rng,
            lik,
            np.zeros((8, self.n_rows), np.int32),
            np.zeros(8, np.int64),
            np.zeros((8, self._process.n_marks)),
            mean_mass(self.mass),
            {name: prior.mean for name, prior in self.learned.items()},
            data,
        )
        state.process = self._process.draw_hidden(rng)
        starts.begin(self, state)
        return state

    def sweep(self, state: ChainState) -> None:
        """Run the schedule once; a move of frequency 2.3 runs twice and, with probability 0.3, once more."""
        for name, frequency in self.schedule:
            times = int(frequency)
            if frequency > times:
                times += state.rng.random() < frequency - times
            for _ in range(times):
                begin = time.perf_counter()
                tried, accepted = self.moves[name](state)
                record = state.statistics.setdefault(name, [0, 0, 0.0])
                record[0] += int(tried)
                record[1] += int(accepted)
                record[2] += time.perf_counter() - begin
        state.sweeps += 1

    def scalars(self, state: ChainState) -> dict[str, float]:
        """Return parameters, the number of features, and log densities (weights, links and owners summed out)."""
        sigma_x, sigma_w = (float(s) for s in state.lik.scales[:2])
        mass = self.prior.mass_name
        numbers = {mass: state.alpha, "sigma_x": sigma_x, "sigma_w": sigma_w, **state.parameters}
        fixed = self.likelihood.set_params(sigma_x=sigma_x, sigma_w=sigma_w)
        log_likelihood = fixed.logpdf(self.observed, state.Z)
        log_prior = state.process.log_prior(state.Z, state.alpha)
        learned = {mass: self.mass, "sigma_x": self.likelihood.sigma_x, "sigma_w": self.likelihood.sigma_w}
        log_hyper = sum(p.logpdf(numbers[k]) for k, p in (learned | self.learned).items() if isinstance(p, ScalePrior))
        return numbers | {
            "n_features": float(state.n_features),
            "log_likelihood": log_likelihood,
            "log_prior": log_prior,
            "log_joint": log_likelihood + log_prior + log_hyper,
        }

    def features(self, state: ChainState) -> NDArray[np.bool_]:
        """Return Z."""
        return state.Z

    def weights(self, state: ChainState) -> FloatArray:
        """Return a draw of W given the features (the state's own if weights are part of it)."""
        K = state.n_features
        if not self.likelihood.collapsed:
            return state.lik.weights[:K].copy()
        fixed = self.likelihood.set_params(sigma_x=float(state.lik.scales[0]), sigma_w=float(state.lik.scales[1]))
        posterior = fixed.weights(self.observed, state.Z)
        noise = side_stream(state.rng).standard_normal((K, self.n_outputs))
        lower = np.linalg.cholesky(posterior.covariance) if K else posterior.covariance
        return posterior.mean + np.einsum("mkl,lm->km", lower, noise)

    def imputed(self, state: ChainState) -> FloatArray:
        """Return draws of the missing entries, row by row."""
        fitted = state.Z.astype(float) @ self.weights(state)
        noise = side_stream(state.rng).standard_normal((2, int(self.missing.sum())))[1]
        return fitted[self.missing] + state.lik.scales[0] * noise

    @property
    def n_extras(self) -> int:
        """About how many numbers `extras` returns, with some 16 features."""
        hidden = sum(array.size for array in self._process.hidden.values())
        widths = {"links": self.n_rows, "marks": self._process.n_marks}
        return hidden + 16 * sum(widths[name] for name in self._process.kept)

    def extras(self, state: ChainState) -> dict[str, NDArray[Any]]:
        """Return what new rows inherit by beside Z: what the process hides, and what columns carry."""
        hidden = {name: np.array(array) for name, array in state.process.hidden.items()}
        return hidden | {name: getattr(state, name)[: state.n_features].copy() for name in state.process.kept}

    def move_statistics(self, state: ChainState) -> dict[str, tuple[int, int, float]]:
        """Return per move how often it was tried and accepted, and its seconds."""
        return {name: (int(a), int(b), float(c)) for name, (a, b, c) in state.statistics.items()}

    def pack(self, state: ChainState) -> dict[str, NDArray[Any]]:
        """Return the chain as plain arrays."""
        return state.pack()

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> ChainState:
        """Return the chain that `pack` described."""
        kept = np.empty((0, self.n_outputs), np.uint8)
        if not self.likelihood.collapsed and self.missing.any():
            kept = (~self.missing).astype(np.uint8)
        state = ChainState.unpack(arrays, kept)
        hidden = {k.removeprefix("hidden."): np.array(v) for k, v in arrays.items() if k.startswith("hidden.")}
        state.process = self.process(state.parameters, hidden)
        return state

    # -- moves ---------------------------------------------------------------------------------------------------------

    def process(self, parameters: Mapping[str, float], hidden: Mapping[str, NDArray[Any]] | None = None) -> Process:
        """Return the column process of the prior at these parameters, with what is hidden as it is given."""
        covariates = self.n_rows if self.covariates is None else self.covariates
        process: Process = self.prior.process(covariates, groups=self.groups, parameters=parameters)
        return process.with_hidden(hidden) if hidden else process

    def _moves(self) -> dict[str, Callable[[ChainState], tuple[int, int]]]:
        collapsed = self.likelihood.collapsed
        moves: dict[str, Callable[[ChainState], tuple[int, int]]] = {}
        if self._process.has_links:
            moves["links"] = lambda state: sweeps.relink(state, collapsed)
            moves["leaves"] = lambda state: sweeps.flip_leaves(state, collapsed)
            moves["causes"] = parameters.draw_causes
        moves["flips"] = lambda state: sweeps.flip_rows(state, collapsed)
        moves["singletons"] = lambda state: sweeps.redraw_singletons(state, collapsed)
        family = marked if self._process.has_marks else births
        moves["births"] = lambda state: family.from_the_prior(self, state)
        moves["data births"] = lambda state: family.from_the_data(self, state)
        if self._process.has_links and self.likelihood.collapsed:
            moves["paper dishes"] = lambda state: births.all_dishes_at_once(self, state)
        if not self._process.has_marks:
            moves["split and merge"] = lambda state: restructure.split_or_merge(self, state)
            moves["combine"] = lambda state: restructure.combine(self, state)
        if self._process.refreshes:
            moves["marks"] = lambda state: (state.n_entries, state.process.refresh(state))
        if self._process.hidden:
            moves[next(iter(self._process.hidden))] = parameters.draw_hidden
        mass = marked.draw_mass if self._process.has_marks else parameters.draw_alpha
        moves[self.prior.mass_name] = lambda state: mass(self, state)
        moves["scales"] = lambda state: parameters.draw_scales(self, state)
        if self.learned:
            moves["parameters"] = lambda state: parameters.slice_parameters(self, state)
        if collapsed and self.missing.any():
            moves["impute"] = lambda state: imputing.impute(self, state)
            moves["holes"] = lambda state: imputing.flip_and_impute(self, state)
        return moves

    def _named_schedule(self, name: str) -> list[tuple[str, float]]:
        """Return the schedule called ``"default"``, or ``"paper"``: the moves as they were published."""
        _check.choice("schedule", name, ("default", "paper"))
        schedule: list[tuple[str, float]] = []
        if name == "paper":
            if not self._process.has_links:
                kind = type(self.prior).__name__
                raise ValueError(f"schedule 'paper' is the dd-IBP's; for {kind} use the default or a list of moves.")
            schedule = [("links", 1.0), ("paper dishes", 1.0)]
            return schedule + self._parameter_moves("impute")
        if not self._process.has_links:
            schedule.append(("flips", 1.0))
        elif self._process.sequential:
            schedule += [("links", 1.0), ("leaves", 1.0), ("flips", 0.25)]
        else:
            schedule += [("links", 0.5), ("leaves", 1.0), ("causes", 0.25)]
        schedule += [("singletons", self._share), ("births", 1.0), ("data births", 4.0)]
        if not self._process.has_marks:
            schedule += [("split and merge", 3.0), ("combine", 3.0)]
        if self._process.refreshes:
            schedule.append(("marks", 1.0))
        return schedule + self._parameter_moves("holes")

    @property
    def _share(self) -> float:
        """How often moves run whose cost, where columns carry marks, grows faster than that of a sweep."""
        return min(1.0, 200.0 / self.n_rows) if self._process.has_marks else 1.0

    def _parameter_moves(self, imputation: str) -> list[tuple[str, float]]:
        schedule = [(name, 1.0) for name in self._process.hidden]
        if isinstance(self.mass, Gamma):
            schedule.append((self.prior.mass_name, self._share))
        if isinstance(self.likelihood.sigma_x, ScalePrior) or isinstance(self.likelihood.sigma_w, ScalePrior):
            schedule.append(("scales", 1.0))
        if self.learned:
            schedule.append(("parameters", 0.5 * self._share))
        if self.likelihood.collapsed and self.missing.any():
            schedule.append((imputation, 1.0))
        return schedule

    def append(self, state: ChainState, z: NDArray[np.uint8], owner: int, links: Any = None, marks: Any = None) -> None:
        """Append a column for which the evidence beside all others has been prepared, and draw its weights."""
        state.make_room(state.n_features + 1)
        k = state.n_features
        state.lik.z[k] = z
        state.lik.weights[k] = 0.0
        state.owners[k] = owner
        if links is not None:
            state.links[k] = links
        if marks is not None:
            state.marks[k] = marks
        state.lik.sizes[0] = k + 1
        ev.prepare(state.lik, self.likelihood.collapsed, k, state.evidence, state.work)
        ev.commit(state.rng, state.lik, self.likelihood.collapsed, k, state.evidence)

    def drop(self, state: ChainState, k: int) -> None:
        """Take a column out."""
        singletons.drop_column(state.lik, self.likelihood.collapsed, k, state.links, state.owners, state.marks)

    def log_likelihood(self, columns: NDArray[np.uint8], state: ChainState) -> float:
        """Return the log likelihood of completed data given columns, weights summed out, up to a constant."""
        Z = columns.astype(float)
        cross = Z @ state.data
        scales = (float(state.lik.scales[0]), float(state.lik.scales[1]))
        return log_marginal(Z @ Z.T, cross, float((state.data**2).sum()), *scales)

    # -- small things --------------------------------------------------------------------------------------------------

    def _reduced(self, data: FloatArray) -> FloatArray:
        """Return N×N data with the same X X' when there are more outputs than rows and weights are summed out."""
        if not self.likelihood.collapsed or self.n_outputs <= self.n_rows:
            return data
        return np.ascontiguousarray(np.transpose(np.linalg.qr(data.T, mode="r")))

    def refresh_data(self, state: ChainState) -> None:
        """Recompute what the likelihood keeps of the data after entries have been imputed."""
        state.lik.X[:] = self._reduced(state.data)
        K = state.n_features
        state.lik.cross[:K] = state.lik.z[:K].astype(float) @ state.lik.X

    def replace_data(self, state: ChainState, X: FloatArray) -> None:
        """Put complete data X in place of a chain's, for joint tests (`ddibp.testing`); missing entries stay missing.

        Summaries that refer to the data (scalars, draws of weights that are summed out) keep to those observed.
        """
        collapsed = self.likelihood.collapsed
        state.data[:] = X if collapsed else np.where(self.missing, 0.0, X)
        self.refresh_data(state)
        if not collapsed:
            fitted = state.Z.astype(float) @ state.lik.weights[: state.n_features]
            state.lik.residuals[:] = np.where(self.missing, 0.0, state.data - fitted)

    def _starting_scales(self) -> tuple[float, float]:
        spread = float(np.nanstd(self.observed)) if not self.missing.all() else 1.0
        spread = spread if spread > 0 else 1.0
        sigma_x, sigma_w = self.likelihood.sigma_x, self.likelihood.sigma_w
        noise = spread if self.start_from == "empty" else 0.5 * spread  # without features everything is noise
        return (
            noise if isinstance(sigma_x, ScalePrior) else float(sigma_x),  # type: ignore[arg-type]
            spread if isinstance(sigma_w, ScalePrior) else float(sigma_w),  # type: ignore[arg-type]
        )


def _digest(array: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes() + str(array.shape).encode()).hexdigest()[:16]


def _digest_of_process(process: Process) -> str:
    relations = process.relations
    return _digest(np.concatenate([array.ravel() for array in relations])) if relations else f"{process.n_rows} rows"
