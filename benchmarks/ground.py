"""Cases: building proximities, exact probabilities, sampling, sharing."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.processes import peak_gib
from benchmarks.tables import Rows, Table
from ddibp import DDIBP, DHBP, IBP, Constant, Exponential, Proximity, Window, sharing

TABLES = {
    "ground": Table(
        "Priors",
        '"Seconds" is the best of three calls; the first call also loads compiled kernels from the cache. Peak memory '
        "is that of the whole process, interpreter and libraries included (about 0.15 GiB).",
    )
}
RUNS_FIRST = 1  # in a process before the one that counts, so that first calls load kernels instead of compiling them


class Case(NamedTuple):
    """A title, what to prepare, what to time, and what to say of the result."""

    title: str
    prepare: Callable[[], Any]
    work: Callable[[Any], Any]
    note: Callable[[Any, Any], str]


def times(n: int) -> Any:
    """Return n times with about one per unit."""
    return np.sort(np.random.default_rng(0).uniform(0, n, n))


def columns(prior: DDIBP, t: Any, n_columns: int) -> tuple[DDIBP, Proximity, Any]:
    """Return the prior, its proximity, and a matrix of exactly so many columns drawn from it."""
    proximity = prior.proximity(t)
    draws = [prior.sample(proximity, rng=0)]
    while sum(Z.shape[1] for Z in draws) < n_columns:
        draws.append(prior.sample(proximity, rng=len(draws)))
    return prior, proximity, np.hstack(draws)[:, :n_columns]


def build(sequential: bool) -> Callable[[Any], Proximity]:
    """Return the building of a proximity with a window of about 10 neighbours on either side."""
    return lambda t: Proximity.from_covariates(t, Window(10.0), sequential=sequential)


def pairs(_: Any, proximity: Proximity) -> str:
    """Say how many pairs were stored."""
    return f"{proximity.n_pairs:,} pairs"


def logpmf(prepared: Any) -> float:
    """Return the exact log probability."""
    prior, proximity, Z = prepared
    return prior.logpmf(Z, proximity)


def sizes(prepared: Any, _: Any) -> str:
    """Say how large the columns are."""
    m = prepared[2].sum(axis=0)
    return f"{m.mean():.0f} active rows a column, at most {m.max()}"


def shape(_: Any, Z: Any) -> str:
    """Say what was drawn."""
    return f"{Z.shape[0]:,} × {Z.shape[1]:,}"


def prior_with_200_columns() -> tuple[DDIBP, Proximity]:
    """Return 10,000 rows with a reach of 92 and a mass that gives 200 columns on average."""
    prior = DDIBP(Exponential(0.05), alpha=1.0, cutoff=1e-2)
    proximity = prior.proximity(np.arange(10_000.0))
    return prior.set_params(alpha=200.0 / prior.expected_features(proximity)), proximity


N = np.arange(2000.0)
PLANS = {
    "build-window": Case("proximity, 1,000,000 times, window of 10", lambda: times(10**6), build(False), pairs),
    "build-window-sequential": Case("the same, sequential", lambda: times(10**6), build(True), pairs),
    "build-plane": Case(
        "proximity, 100,000 points in the plane, window",
        lambda: np.random.default_rng(0).uniform(0, 300, (100_000, 2)),
        lambda x: Proximity.from_covariates(x, Window(2.0)),
        pairs,
    ),
    "build-dense": Case(
        "proximity, 5,000 times, every pair",
        lambda: times(5000),
        lambda t: Proximity.from_covariates(t, Exponential(0.1)),
        pairs,
    ),
    "logpmf-sequential": Case(
        "logpmf, 2,000 × 100, sequential, every pair",
        lambda: columns(DDIBP(Exponential(0.01), 10.0, True), N, 100),
        logpmf,
        sizes,
    ),
    "logpmf-sequential-window": Case(
        "logpmf, 2,000 × 100, sequential, window of 50",
        lambda: columns(DDIBP(Window(50.0), 10.0, True), N, 100),
        logpmf,
        sizes,
    ),
    "logpmf-symmetric": Case(
        "logpmf, 2,000 × 100, symmetric, every pair",
        lambda: columns(DDIBP(Exponential(0.01), 10.0), N, 100),
        logpmf,
        sizes,
    ),
    "logpmf-worst": Case(
        "logpmf, 2,000 × 100, symmetric, half of all rows active",
        lambda: (p := DDIBP(Constant(), 10.0), p.proximity(N), np.random.default_rng(0).random((2000, 100)) < 0.5),
        logpmf,
        sizes,
    ),
    "sample-200": Case(
        "dd-IBP draw, 10,000 rows, reach 92",
        prior_with_200_columns,
        lambda p: p[0].sample(p[1], rng=0),
        shape,
    ),
    "sample-sparse": Case(
        "dd-IBP sparse draw, 1,000,000 rows, window of 2",
        lambda: (p := DDIBP(Window(2.0), 1.0, True), p.proximity(np.arange(1e6))),
        lambda p: p[0].sample(p[1], rng=0, sparse=True),
        shape,
    ),
    "sample-ibp": Case("IBP draw, 100,000 rows", lambda: IBP(10.0), lambda p: p.sample(100_000, rng=0), shape),
    "sample-dhbp": Case(
        "dHBP draw, 200 rows, γ = 1,000, c0 = 10",
        lambda: DHBP(Exponential(0.1), 1000.0, c0=10.0, c1=1.0),
        lambda p: p.sample(np.arange(200.0), rng=0),
        shape,
    ),
    "causes": Case(
        "links and owners given Z, 2,000 × 100, symmetric",
        lambda: columns(DDIBP(Exponential(0.01), 10.0), N, 100),
        lambda p: p[0].sample_causes(p[2], p[1], rng=0),
        sizes,
    ),
    "sharing-recursion": Case(
        "expected sharing, 2,000 rows, recursion, every pair",
        lambda: (p := DDIBP(Exponential(0.1), 1.0, True), p.proximity(N)),
        lambda p: sharing.expected(*p),
        lambda _, s: s.method,
    ),
    "sharing-monte-carlo": Case(
        "expected sharing, 300 rows, 1,000 draws of links",
        lambda: (p := DDIBP(Exponential(0.1), 1.0), p.proximity(np.arange(300.0))),
        lambda p: sharing.expected(*p),
        lambda _, s: f"{s.method}, largest standard error {s.standard_error.max():.1g}",
    ),
}


def measure(case: Case) -> Rows:
    """Prepare and time one case."""
    prepared = case.prepare()
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        result = case.work(prepared)
        seconds.append(time.perf_counter() - start)
    row = {
        "what": case.title,
        "seconds": f"{min(seconds[1:]):.3g}",
        "seconds, first call": f"{seconds[0]:.3g}",
        "peak memory, GiB": f"{peak_gib():.2f}",
        "of": case.note(prepared, result),
    }
    return {"ground": [row]}


CASES: dict[str, Callable[[], Rows]] = {name: functools.partial(measure, case) for name, case in PLANS.items()}
