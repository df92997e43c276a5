"""One chain on one of the data sets of the experiments, as plain numbers that a study can keep.

To add a data set, write its line in ``TABLES``: a function that returns data, covariates and labels, rows in the order
of the covariate. Columns are standardised here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


class Table(NamedTuple):
    """Standardised data with what is known of the rows."""

    X: FloatArray
    covariates: FloatArray
    labels: NDArray[np.bool_] | None = None
    people: NDArray[np.int64] | None = None


def _alzheimers() -> Table:
    from ddibp import datasets

    found = datasets.load_alzheimers()
    assert found.covariates is not None
    assert found.labels is not None
    rows = np.flatnonzero(np.isin(found.labels, ["AD", "NC"]))
    rows = rows[np.argsort(found.covariates[rows], kind="stable")]
    return Table(found.X[rows], found.covariates[rows], found.labels[rows] == "AD", datasets.alzheimers_runs()[rows])


def _eeg() -> Table:
    from ddibp import datasets

    found = datasets.load_eeg_segments()
    assert found.covariates is not None
    rows = found.groups == "0"
    return Table(found.X[rows], found.covariates[rows])


def _elnino() -> Table:
    from ddibp import datasets

    found = datasets.load_elnino()
    assert found.covariates is not None
    return Table(found.X, found.covariates)


TABLES: dict[str, Callable[[], Table]] = {"alzheimers": _alzheimers, "eeg": _eeg, "elnino": _elnino}


def table(name: str) -> Table:
    """Return a data set with standardised columns."""
    found = TABLES[name]()
    return found._replace(X=(found.X - found.X.mean(axis=0)) / found.X.std(axis=0))


def run(
    data: str,
    prior: Any,
    seed: np.random.SeedSequence,
    *,
    iterations: int,
    tune: int,
    thin: int = 1,
    start: str = "data",
    removed: float = 0.0,
    removal: int = 0,
) -> Any:
    """Return the posterior of one chain, and the entries that were removed before.

    ``removed`` is their share, at random; ``removal`` numbers the ways of removing, whatever the chain's seed is.
    """
    from threadpoolctl import threadpool_limits

    from ddibp import sample_posterior
    from ddibp.experiments import models

    found = table(data)
    X = found.X.copy()
    holes = np.random.default_rng(removal).random(X.shape) < removed
    X[holes] = np.nan
    with threadpool_limits(1):
        posterior = sample_posterior(
            prior,
            models.likelihood(),
            X,
            models.covariates_for(prior, found.covariates),
            draws=(iterations - tune) // thin,
            tune=tune,
            chains=1,
            thin=thin,
            seed=seed,
            start=start,
            progress=False,
        )
    return posterior, holes


def features(
    data: str, prior: Any, seed: np.random.SeedSequence, iterations: int, tune: int, thin: int, **_: Any
) -> dict[str, Any]:
    """Return the features of a chain's best draw, their probabilities, the mean of ZW, and parameters."""
    posterior, _holes = run(data, prior, seed, iterations=iterations, tune=tune, thin=thin)
    best = posterior.map()
    return {
        "Z": written(best.Z),
        "probabilities": posterior.feature_probabilities().probabilities.round(3),
        "explained": posterior.reconstruction().mean.round(3),
        "log_joint": best.log_joint,
        **{f"mean {name}": float(np.mean(x)) for name, x in _numbers(posterior).items()},
    }


def trace(
    data: str,
    prior: Any,
    seed: np.random.SeedSequence,
    iterations: int,
    tune: int = 0,
    thin: int = 1,
    start: str = "data",
    removed: float = 0.0,
    removal: int = 0,
    **_: Any,
) -> dict[str, Any]:
    """Return the numbers of every kept draw, the best draw's features, and the error of removed entries."""
    length = {"iterations": iterations, "tune": tune, "thin": thin}
    found, holes = run(data, prior, seed, **length, start=start, removed=removed, removal=removal)
    error = float("nan")
    if holes.any():
        error = float(np.sqrt(np.mean((found.completed() - table(data).X)[holes] ** 2)))
    numbers = {f"trace {name}": np.round(x, 5) for name, x in _numbers(found).items()}
    return {"Z": written(found.map().Z), "error": error, **numbers}


def _numbers(posterior: Any) -> dict[str, FloatArray]:
    """Return the numbers of the draws of the only chain by name."""
    groups = posterior.data["posterior"]
    return {str(name): np.asarray(groups[name].values[0], dtype=np.float64) for name in groups.data_vars}


def written(Z: BoolArray) -> list[str]:
    """Return a matrix as texts of 0 and 1."""
    return ["".join("1" if z else "0" for z in row) for row in Z]


def read(rows: list[str]) -> FloatArray:
    """Return what `written` wrote."""
    return np.array([[float(z) for z in row] for row in rows])
