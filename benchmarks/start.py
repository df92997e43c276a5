"""Memory of large problems, and what a fresh process waits for: imports, kernels from the cache, compilation."""

from __future__ import annotations

import functools
import tempfile
import time
from collections.abc import Callable

import numpy as np

from benchmarks.processes import peak_gib, run_python
from benchmarks.states import SETTINGS, state_of
from benchmarks.tables import Rows, Table
from ddibp.sampling.chains import Chain

TABLES = {
    "memory": Table(
        "Memory of a large problem",
        "10,000 rows, 100 features, 36 outputs, reach 100, features of about a fifth of all rows each. Peak memory is "
        "that of the whole process after three iterations, the summaries of their draws and the simulation of the data "
        "included.",
    ),
    "start": Table(
        "Start of a fresh process",
        "Seconds from starting Python until `sample_posterior` has returned its first draw (100 rows, 10 outputs, some "
        "missing), and until every move has run once. Warm: kernels are in the cache on disk. Empty: "
        "the very first run after an installation, which compiles them.",
    ),
}
_CODE = """
import json, sys, time
begin, kind, n_rows = float(sys.argv[1]), sys.argv[2], int(sys.argv[3])
python = time.time()
import numpy as np
import ddibp
from ddibp import DDIBP, IBP, Exponential, LinearGaussian, sample_posterior
imported = time.time()
rng = np.random.default_rng(0)
t = np.arange(float(n_rows))
Z = np.column_stack([t >= n_rows / 3, t < n_rows / 2])
X = Z @ rng.normal(size=(2, 10)) + 0.3 * rng.normal(size=(n_rows, 10))
X[rng.random(X.shape) < 0.05] = np.nan
prior, given = IBP(), None
if kind != "ibp":
    prior, given = DDIBP(Exponential(0.1), sequential=kind == "sequential"), t
sample_posterior(prior, LinearGaussian(), X, given, draws=1, tune=0, chains=1, progress=False)
drawn = time.time()
from ddibp.sampling.sampler import PosteriorSampler
sampler = PosteriorSampler(prior, LinearGaussian(), X, given)
state = sampler.start(np.random.default_rng(0))
for move in sampler.moves.values():
    move(state)
print(json.dumps([python - begin, imported - begin, drawn - begin, time.time() - begin]))
"""


def memory(name: str, n_rows: int = 10_000, n_features: int = 100, n_outputs: int = 36) -> Rows:
    """Run a chain as `sample_posterior` does and return the peak memory of this process."""
    setting = SETTINGS[name]
    sampler, state = state_of(setting, n_rows, n_features, n_outputs)
    plan = {"tune": 0, "thin": 1, "chains": 1, "data": {"missing": 0}}
    chain = Chain(sampler, 0, np.random.SeedSequence(0), plan)
    chain.state = state
    begin = time.perf_counter()
    for _ in range(3):
        chain.sweep()
    seconds = (time.perf_counter() - begin) / 3
    row = {
        "prior": setting.title,
        "rows × features": f"{n_rows:,} × {n_features}",
        "peak memory, GiB": f"{peak_gib():.2f}",
        "seconds per draw": f"{seconds:.3g}",
    }
    return {"memory": [row]}


def start(kind: str, empty: bool, n_rows: int = 100) -> Rows:
    """Return how long a fresh process takes to its first draw."""
    if empty:
        with tempfile.TemporaryDirectory() as folder:
            python, imported, drawn, everything = launch(kind, n_rows, NUMBA_CACHE_DIR=folder)
    else:
        launch(kind, n_rows)  # fills the cache
        python, imported, drawn, everything = min(
            (launch(kind, n_rows) for _ in range(3)), key=lambda seconds: seconds[2]
        )
    row = {
        "prior": "IBP" if kind == "ibp" else f"dd-IBP, {kind}",
        "kernel cache": "empty" if empty else "warm",
        "Python": f"{python:.2f}",
        "with imports": f"{imported:.2f}",
        "with the first draw": f"{drawn:.2f}",
        "with every move": f"{everything:.2f}",
    }
    return {"start": [row]}


def launch(kind: str, n_rows: int, **environment: str) -> list[float]:
    """Return seconds since the launch of a process: in Python, imported, first draw, every move."""
    return run_python(_CODE, repr(time.time()), kind, str(n_rows), **environment)


CASES: dict[str, Callable[[], Rows]] = {
    **{f"memory-{name}": functools.partial(memory, name) for name in ("sequential-window", "symmetric-window")},
    **{
        f"start-{kind}-{'empty' if empty else 'warm'}": functools.partial(start, kind, empty)
        for empty in (False, True)
        for kind in ("ibp", "sequential", "symmetric")
    },
}
