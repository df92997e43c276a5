"""Mixing: effective samples per second of the default schedule against the published algorithm."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.literal import literal_of, time_visits
from benchmarks.states import features, place
from benchmarks.tables import Rows, Table
from ddibp import DDIBP, Exponential, Gamma, LinearGaussian
from ddibp.sampling.diagnostics import ess_bulk
from ddibp.sampling.sampler import PosteriorSampler
from ddibp.sampling.state import ChainState

TABLES = {
    "mixing": Table(
        "Mixing against the published algorithm",
        "Data simulated from the dd-IBP with exponential decay (rate 0.1, rows at 0, 1, 2, ...), 8 features and "
        "weights of scale 1; mass and noise are learned. The noise is such that the number of features is uncertain: "
        "with less of it, features are certain and there is nothing to mix. Both schedules start from the same four "
        "draws, far apart in a run of the default schedule that began at the truth, and get the same time; the "
        "effective sample size is the rank-normalised one over the four chains, so that chains which stay where they "
        "are count as few. ≤ marks a number that never changed within any chain, which counts as one draw a chain: "
        "a bound, which falls with the time given. "
        "`paper` is the published algorithm with our compiled code; the last line of each group is the same run at "
        "the speed of the literal Python (`tests/reference`), from a sample of its visits. Recording is not counted.",
    ),
    "shares": Table(
        "Moves of these runs",
        "Share of time, and share of proposals accepted (of visited rows or sets changed, where a move is a sweep).",
    ),
}
N_CHAINS = 4
WATCHED = ("n_features", "log_joint")


class Run(NamedTuple):
    """Draws of the watched numbers (chains by sweeps), seconds of all sweeps, and statistics of the moves."""

    draws: dict[str, Any]
    seconds: float
    moves: dict[str, tuple[int, int, float]]


def simulate(
    n_rows: int, n_outputs: int, sequential: bool, noise: float, n_features: int = 8
) -> tuple[DDIBP, Any, Any, Any]:
    """Return a prior with learned mass, times, true features, and data."""
    rng = np.random.default_rng(7)
    prior = DDIBP(Exponential(0.1), Gamma(), sequential)
    Z = features(prior, n_rows, n_features, rng)
    X, _ = LinearGaussian(noise, 1.0).simulate(Z, n_outputs, rng=rng)
    return prior, np.arange(float(n_rows)), Z, X


def spread_starts(sampler: PosteriorSampler, Z: Any, noise: float, seconds: float) -> list[dict[str, Any]]:
    """Return states of one chain from the truth, a quarter of ``seconds`` apart."""
    state, starts = place(sampler, Z, noise), []
    for _ in range(N_CHAINS):
        begin = time.process_time()
        while time.process_time() - begin < seconds / N_CHAINS:
            sampler.sweep(state)
        starts.append(sampler.pack(state))
    return starts


def run(sampler: PosteriorSampler, starts: list[dict[str, Any]], seconds: float) -> Run:
    """Run a chain from every start for its share of ``seconds``; chains are cut to the length of the shortest."""
    chains: list[tuple[list[float], dict[str, list[float]]]] = []
    moves: dict[str, list[float]] = {}
    for chain, start in enumerate(starts):
        state = sampler.unpack(start)
        state.rng = np.random.default_rng([chain, 1])
        state.statistics.clear()
        times, draws = [], {name: [] for name in WATCHED}
        spent = 0.0
        while spent < seconds / len(starts) or len(times) < 8:
            begin = time.process_time()
            sampler.sweep(state)
            spent += time.process_time() - begin
            times.append(spent)
            scalars = sampler.scalars(state)
            for name in WATCHED:
                draws[name].append(scalars[name])
        chains.append((times, draws))
        for name, figures in sampler.move_statistics(state).items():
            moves[name] = [a + b for a, b in zip(moves.get(name, [0, 0, 0.0]), figures, strict=True)]
    length = min(len(times) for times, _ in chains)
    draws = {name: np.array([d[name][:length] for _, d in chains]) for name in WATCHED}
    total = sum(times[length - 1] for times, _ in chains)
    return Run(draws, total, {name: (int(a), int(b), c) for name, (a, b, c) in moves.items()})


def rate(result: Run, name: str) -> tuple[float, bool]:
    """Return effective samples per second, and whether the number never moved: then a chain counts as one at most."""
    x = result.draws[name]
    if (np.ptp(x, axis=1) == 0.0).all():
        return len(x) / result.seconds, True
    return ess_bulk(x) / result.seconds, False


def seconds_of_literal_sweep(sampler: PosteriorSampler, state: ChainState, seconds: float) -> float:
    """Return what a sweep over all links takes the literal Python, from a sample of visits."""
    visits = time_visits(literal_of(sampler, state), seconds)
    return visits.seconds * sampler.n_rows * state.n_features


def measure(
    n_rows: int,
    n_outputs: int,
    sequential: bool,
    noise: float,
    seconds: float = 30.0,
    literal: float = 2.0,
    n_features: int = 8,
) -> Rows:
    """Return effective samples per second of both schedules on the same data."""
    prior, t, Z, X = simulate(n_rows, n_outputs, sequential, noise, n_features)
    likelihood = LinearGaussian(sigma_w=1.0)
    samplers = {
        name: PosteriorSampler(prior, likelihood, X, t, schedule=name, start="empty") for name in ("default", "paper")
    }
    starts = spread_starts(samplers["default"], Z, noise, seconds / 2)
    for sampler in samplers.values():
        state = sampler.unpack(starts[0])
        sampler.sweep(state)  # loads kernels
    results = {name: run(sampler, starts, seconds) for name, sampler in samplers.items()}
    data = f"{n_rows} × {n_outputs}, noise {noise:g}, {'sequential' if sequential else 'symmetric'}"
    rates = {name: {what: rate(result, what) for what in WATCHED} for name, result in results.items()}
    rows = [_row(data, name, results[name], rates[name], rates["default"]) for name in results]

    state = samplers["paper"].unpack(starts[0])
    slow = seconds_of_literal_sweep(samplers["paper"], state, literal)
    n_sweeps = results["paper"].draws["n_features"].size
    factor = slow * n_sweeps / results["paper"].seconds
    stretched = results["paper"]._replace(seconds=results["paper"].seconds * factor)
    slowed = {what: (value / factor, frozen) for what, (value, frozen) in rates["paper"].items()}
    rows.append(_row(data, "paper, literal Python", stretched, slowed, rates["default"]))
    return {"mixing": rows, "shares": [_shares(data, name, result) for name, result in results.items()]}


def _row(data: str, name: str, result: Run, rates: Any, best: Any) -> dict[str, str]:
    K = result.draws["n_features"]
    row = {
        "data": data,
        "schedule": name,
        "sweeps": f"{K.size:,}",
        "ms a sweep": f"{1e3 * result.seconds / K.size:.3g}",
        "mean K": f"{K.mean():.2f}",
    }
    for what, title in (("n_features", "K"), ("log_joint", "log joint")):
        value, frozen = rates[what]
        row[f"ESS/s of {title}"] = f"{'≤ ' if frozen else ''}{value:.3g}"
    for what, title in (("n_features", "K"), ("log_joint", "log joint")):
        value, frozen = rates[what]
        ratio = best[what][0] / value
        row[f"default is faster, {title}"] = f"{'≥ ' if frozen else ''}{ratio:,.3g} ×" if name != "default" else "1 ×"
    return row


def _shares(data: str, name: str, result: Run) -> dict[str, str]:
    total = sum(seconds for *_, seconds in result.moves.values())
    cells = {"data": data, "schedule": name}
    for move, (tried, accepted, seconds) in result.moves.items():
        cells[move] = f"{seconds / total:.0%}, {accepted / tried:.2%}" if tried else f"{seconds / total:.0%}"
    return cells


CASES: dict[str, Callable[[], Rows]] = {
    f"mixing-{n}-{'sequential' if sequential else 'symmetric'}": functools.partial(measure, n, m, sequential, noise)
    for n, m, noise in ((62, 224, 5.3), (300, 32, 1.4))
    for sequential in (True, False)
}
