"""Chains side by side, in blocks of half a second; the numbers depend neither on the blocks nor on the workers."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ddibp import _check
from ddibp._random import RandomState, as_generator
from ddibp.sampling.extras import pack_extras
from ddibp.sampling.posterior import Posterior
from ddibp.sampling.progress import Interruption, reporting
from ddibp.sampling.protocol import KeepsExtras, Sampler
from ddibp.sampling.store import Arrays, Folder, Store, describe, join_parts, open_for_run
from ddibp.summaries import BestDraw, ChainSummary, mean_sharing, reconstruct

_BLOCK_SECONDS = 0.5
_MOST_IMPUTED = 20_000_000
_FEWEST_IMPUTED_DRAWS = 20


class Chain:
    """A chain: the state of its sampler, sums over its draws, and the draws since they were last taken away."""

    def __init__(self, sampler: Sampler, number: int, stream: np.random.SeedSequence, plan: dict[str, Any]) -> None:
        self.sampler = sampler
        self.number = number
        self.stream = stream
        self.tune: int = plan["tune"]
        self.thin: int = plan["thin"]
        n_missing: int = plan["data"]["missing"]
        numbers = max(1, n_missing + (sampler.n_extras if isinstance(sampler, KeepsExtras) else 0))
        self.most_imputed = max(_MOST_IMPUTED // (plan["chains"] * numbers), _FEWEST_IMPUTED_DRAWS)
        self.state: Any = None
        self.sweeps = self.draws = self.parts = 0
        self.seconds = 0.0
        self.stride = 1
        self.summary = ChainSummary(sampler.n_rows, sampler.n_outputs, n_missing)
        self.fresh: list[Arrays] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "state": None if self.state is None else self.sampler.pack(self.state)}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        vars(self).update(attributes)
        if self.state is not None:
            self.state = self.sampler.unpack(self.state)

    def sweep(self) -> None:
        """Do one sweep, and keep a draw if one is due."""
        if self.state is None:
            self.state = self.sampler.start(np.random.default_rng(self.stream))
        self.sampler.sweep(self.state)
        self.sweeps += 1
        if self.sweeps > self.tune and (self.sweeps - self.tune) % self.thin == 0:
            self._draw()

    def _draw(self) -> None:
        Z = np.asarray(self.sampler.features(self.state), dtype=bool)
        W = np.asarray(self.sampler.weights(self.state), dtype=np.float64)
        imputed = np.array(self.sampler.imputed(self.state), dtype=np.float64)
        fitted = reconstruct(Z, W)
        scalars = {name: float(value) for name, value in self.sampler.scalars(self.state).items()}
        scalars["n_features"] = float(Z.shape[1])
        scalars["reconstruction_norm"] = float(np.sqrt(np.square(fitted).sum()))
        scalars["mean_sharing"] = mean_sharing(Z)
        extras = self.sampler.extras(self.state) if isinstance(self.sampler, KeepsExtras) else {}
        self.summary.add(BestDraw(Z, W, scalars, self.number, self.draws, extras), fitted, imputed)
        # A power of two that follows from the number of draws alone, so that extending a run changes nothing.
        while self.draws >= self.most_imputed * self.stride:
            self.stride *= 2
        kept = int(self.draws % self.stride == 0)
        self.fresh.append(
            {"n_features": np.array([Z.shape[1]]), "Z": np.packbits(Z)}
            | {f"scalar.{name}": np.array([value]) for name, value in scalars.items() if name != "n_features"}
            | {"imputed": imputed[None][:kept], "imputed_draws": np.array([self.draws][:kept], int)}
            | pack_extras(extras, bool(kept))
        )
        self.draws += 1

    def latest(self) -> dict[str, float]:
        """Return the current numbers."""
        return {} if self.state is None else self.sampler.scalars(self.state)

    def to_arrays(self) -> Arrays:
        """Return all that the chain needs to go on, and what a reader wants to know of it."""
        moves = self.sampler.move_statistics(self.state)
        arrays = {name: np.array(getattr(self, name)) for name in ("sweeps", "draws", "parts", "stride", "seconds")}
        arrays["moves.names"] = np.array(list(moves), dtype=np.str_)
        arrays["moves.figures"] = np.array(list(moves.values()), dtype=np.float64).reshape(-1, 3)
        arrays |= {f"sampler.{key}": np.asarray(value) for key, value in self.sampler.pack(self.state).items()}
        return arrays | self.summary.to_arrays()

    def restore(self, arrays: Arrays) -> None:
        """Go on where `to_arrays` was called."""
        for name in ("sweeps", "draws", "parts", "stride", "seconds"):
            setattr(self, name, arrays[name].item())
        self.summary = ChainSummary.from_arrays(arrays)
        packed = {key.removeprefix("sampler."): value for key, value in arrays.items() if key.startswith("sampler.")}
        self.state = self.sampler.unpack(packed)


class _Block(NamedTuple):
    """What a worker gives back: a chain, its new draws, its current numbers, and what went wrong."""

    chain: Chain
    part: Arrays | None
    scalars: dict[str, float]
    error: Exception | None


def _advance(chain: Chain, draws: int, seconds: float, interruption: Interruption) -> _Block:
    started = time.perf_counter()
    with interruption.listening():
        try:
            while chain.draws < draws and not interruption.requested:
                chain.sweep()
                if time.perf_counter() - started >= seconds:
                    break
        except Exception as error:
            error.add_note(f"This happened in sweep {chain.sweeps + 1} of chain {chain.number}.")
            return _Block(chain, None, {}, error)
        chain.seconds += time.perf_counter() - started
        part = join_parts(chain.fresh)
        chain.fresh = []
        return _Block(chain, part, chain.latest(), None)


class _Team:
    """All chains of a run, and the draws that are not in the store yet."""

    def __init__(self, sampler: Sampler, store: Store, seed: np.random.SeedSequence) -> None:
        plan = store.manifest
        self.store = store
        self.chains = [Chain(sampler, i, stream, plan) for i, stream in enumerate(seed.spawn(plan["chains"]))]
        for chain in self.chains:
            saved = store.state(chain.number)
            if saved is not None:
                for _ in store.parts(chain.number, saved):
                    pass  # better to hear of damage now than after hours
                chain.restore(saved)
        self._stored_sweeps = [chain.sweeps for chain in self.chains]
        self._stored_at = [time.monotonic()] * len(self.chains)
        self._waiting: list[list[Arrays]] = [[] for _ in self.chains]
        self._spoilt: set[int] = set()
        self.failure: Exception | None = None

    def running(self, draws: int) -> list[Chain]:
        """Return the chains that have fewer draws, unless one has failed."""
        return [chain for chain in self.chains if chain.draws < draws and self.failure is None]

    def take(self, block: _Block, flush_seconds: float) -> None:
        """Take a chain back from its worker."""
        number = block.chain.number
        if block.error is not None:
            self.failure = block.error
            self._spoilt.add(number)
            return
        self.chains[number] = block.chain
        if block.part is not None:
            self._waiting[number].append(block.part)
        if time.monotonic() - self._stored_at[number] >= flush_seconds:
            self._flush(number)

    def flush_all(self) -> None:
        """Put into the store what is not there yet; of a chain that has failed, nothing."""
        for number in range(len(self.chains)):
            if number not in self._spoilt:
                self._flush(number)

    def _flush(self, number: int) -> None:
        chain = self.chains[number]
        if chain.sweeps > self._stored_sweeps[number]:
            part = join_parts(self._waiting[number])
            part_number = chain.parts
            chain.parts += part is not None
            self.store.append(number, part_number, part, chain.to_arrays())
            self._waiting[number] = []
            self._stored_sweeps[number] = chain.sweeps
        self._stored_at[number] = time.monotonic()


def run(
    sampler: Sampler,
    *,
    draws: int = 1000,
    tune: int = 500,
    chains: int = 4,
    seed: RandomState = 0,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = True,
    thin: int = 1,
    flush_seconds: float = 30.0,
) -> Posterior:
    """Run chains and return their draws.

    Parameters
    ----------
    sampler : Sampler
        What to run.
    draws : int, optional
        Draws to keep of every chain.
    tune : int, optional
        Sweeps before the first draw.
    chains : int, optional
        Number of chains. Each has a stream of its own, so that the draws do not depend on ``n_jobs``.
    seed : int, SeedSequence, Generator or None, optional
        Where the streams come from; with None and a checkpoint that exists, from there.
    n_jobs : int or None, optional
        Chains that run at the same time; -1: one for every core; None: one, or what ``joblib.parallel_config`` says.
        They run in threads unless ``joblib.parallel_config`` names another backend, such as "loky" or "dask".
    checkpoint : path, optional
        Folder in which to keep the run. If it holds the same run, that is resumed and ends up as if it had never been
        interrupted; if it has fewer draws than asked for now, it is extended; if it has more, all are returned.
    progress : bool, optional
        Whether to show bars, where there is a terminal.
    thin : int, optional
        Keep every so manieth sweep.
    flush_seconds : float, optional
        Longest time between writes of a chain, a sweep and half a second apart; what a killed process can lose.

    Returns
    -------
    Posterior
        The draws. After Ctrl-C, those that there are.
    """
    from joblib import Parallel, delayed

    draws = _check.count("draws", draws, low=1)
    tune = _check.count("tune", tune)
    chains = _check.count("chains", chains, low=1)
    thin = _check.count("thin", thin, low=1)
    flush_seconds = _check.number("flush_seconds", flush_seconds, low=0.0, finite=False)
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0 (-1: all cores), got {n_jobs!r}.")
    folder = None if checkpoint is None else Folder(Path(checkpoint).absolute())

    with contextlib.nullcontext() if folder is None else folder.held():
        root = _seed_sequence(seed, folder)
        plan = describe(sampler, draws=draws, tune=tune, thin=thin, chains=chains, seed=root)
        team = _Team(sampler, open_for_run(folder, plan, sampler), root)
        interruption = Interruption()
        bars = reporting(progress, [c.sweeps for c in team.chains], tune=tune, goal=tune + draws * thin, thin=thin)
        # No maps of files, which are read-only, in place of arrays; no two chains one after the other as one task.
        options = {"prefer": "threads", "return_as": "generator_unordered", "batch_size": 1, "max_nbytes": None}
        workers = Parallel(n_jobs=n_jobs, **options)
        with _one_thread_each(), interruption.listening(), bars as report, workers as parallel:
            while (running := team.running(draws)) and not interruption.requested:
                tasks = [delayed(_advance)(chain, draws, _BLOCK_SECONDS, interruption) for chain in running]
                try:
                    for block in parallel(tasks):
                        team.take(block, flush_seconds)
                        report(block.chain.number, block.chain.sweeps, block.scalars)
                except Exception:
                    # Ctrl-C in a terminal reaches worker processes too; what they had been given is still here.
                    if not interruption.requested:
                        raise
        team.flush_all()

    if team.failure is not None:
        raise team.failure
    if team.running(draws):
        _tell_of_interruption(team, draws, folder)
    return Posterior(team.store)


def _one_thread_each() -> Any:
    """Return a context in which linear algebra runs in one thread.

    Its matrices are small, so that threads would wait for each other most of the time; and sums over several threads
    end in other bits than sums over one, while draws must not depend on the machine's cores.
    """
    import scipy.linalg  # noqa: F401 (its library is limited only if it has been loaded)
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1, user_api="blas")


def _tell_of_interruption(team: _Team, draws: int, folder: Folder | None) -> None:
    there = [chain.draws for chain in team.chains]
    rest = "The rest is lost" if folder is None else f"The same call goes on from {folder.path}"
    if max(there) == 0:
        raise KeyboardInterrupt(f"Interrupted before the first draw. {rest}.")
    warnings.warn(
        f"Interrupted: the chains have {min(there)} to {max(there)} of {draws} draws. {rest}.",
        RuntimeWarning,
        stacklevel=3,
    )


def _seed_sequence(seed: RandomState, folder: Folder | None) -> np.random.SeedSequence:
    """Return a fresh sequence, as spawning counts up in the one given."""
    found = folder.manifest() if folder is not None and seed is None else None
    if found is not None:
        return np.random.SeedSequence(**found["seed"])
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(seed.integers(2**32, size=4).tolist())
    given: Any = as_generator(seed, "seed").bit_generator.seed_seq
    return np.random.SeedSequence(given.entropy, spawn_key=given.spawn_key, pool_size=given.pool_size)
