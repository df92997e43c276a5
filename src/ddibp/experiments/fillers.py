"""Every way to fill a table with holes, under one signature: ``method(S, t, rng) -> Filled``.

``S`` is a table whose columns have mean 0 and standard deviation 1 over observed entries, NaN where missing; ``t`` is
the time or the place of every row. `fill` puts any method to work on a table in its own units. To add a method, write a
function of this signature and its line in `others`; every experiment on missing entries then has it.

Examples
--------
>>> import numpy as np
>>> from ddibp.experiments import fillers
>>> t = np.arange(6.0)
>>> X = np.column_stack([t, 2.0 * t])
>>> X[3, 1] = np.nan
>>> float(fillers.fill(fillers.linear, X, t, np.random.default_rng(0)).mean[3, 1])
6.0
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

PROBABILITY = 0.9
_NORMAL = 1.6448536269514722  # half the width of a central interval of this probability, in standard deviations


class Filled(NamedTuple):
    """A table without holes, and what the method says about its own errors.

    Attributes
    ----------
    mean : ndarray of shape (n_rows, n_columns)
        Observed entries as they were, the others as they are guessed.
    sd : ndarray or None
        Standard deviations of the guesses, where the method has them.
    low, high : ndarray or None
        Ends of 90 % intervals.
    best : ndarray or None
        The guess by the most probable draw (MAP) in place of the mean, for priors of features.
    facts : dict
        Numbers worth a column in a table, such as the number of features.
    """

    mean: FloatArray
    sd: FloatArray | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None
    best: FloatArray | None = None
    facts: Mapping[str, float] = {}


class NotInTimeError(ValueError):
    """The method needs rows in time."""


Method: TypeAlias = Callable[[FloatArray, FloatArray, np.random.Generator], Filled]


def fill(method: Method, X: FloatArray, t: FloatArray, rng: np.random.Generator) -> Filled:
    """Scale every column by its observed entries, let the method fill the holes, and return to the units of X."""
    X, missing = np.asarray(X, dtype=float), np.isnan(X)
    center, scale = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    found = method((X - center) / scale, np.asarray(t, dtype=float), rng)
    tables: dict[str, Any] = {
        name: None if values is None else np.where(missing, values * scale + center, X)
        for name, values in found._asdict().items()
        if name not in ("sd", "facts")
    }
    sd = None if found.sd is None else np.where(missing, found.sd * scale, 0.0)
    if sd is not None and tables["low"] is None:
        tables |= {"low": tables["mean"] - _NORMAL * sd, "high": tables["mean"] + _NORMAL * sd}
    return Filled(**tables, sd=sd, facts=found.facts)


def score(filled: Filled, truth: FloatArray, hidden: BoolArray, unit: FloatArray) -> dict[str, float]:
    """Return squared errors (mean, and of the MAP), coverage and width of intervals, over the hidden entries.

    ``unit`` has a number per column, by which errors are divided.
    """

    def squared(values: FloatArray) -> float:
        return float(np.square(((values - truth) / unit)[hidden]).mean())

    result = {"squared error": squared(filled.mean), **filled.facts}
    if filled.best is not None:
        result["squared error, MAP"] = squared(filled.best)
    if filled.low is not None and filled.high is not None:
        result["coverage"] = float(((filled.low <= truth) & (truth <= filled.high))[hidden].mean())
        result["width"] = float(((filled.high - filled.low) / unit)[hidden].mean())
    return result


# -- without a model of features ---------------------------------------------------------------------------------------


def column_mean(S: FloatArray, t: FloatArray, rng: np.random.Generator) -> Filled:  # noqa: ARG001
    """Guess the mean of the column, with the standard deviation of the column as error."""
    return Filled(np.zeros_like(S), np.ones_like(S))


def linear(S: FloatArray, t: FloatArray, rng: np.random.Generator) -> Filled:  # noqa: ARG001
    """Interpolate linearly in time (constant beyond the ends), or in triangles in the plane (nearest outside)."""
    filled = S.copy()
    for values in filled.T:
        seen = ~np.isnan(values)
        if t.ndim == 1:
            order = np.argsort(t[seen], kind="stable")
            values[~seen] = np.interp(t[~seen], t[seen][order], values[seen][order])
        elif not seen.all():
            from scipy.interpolate import griddata

            inside = griddata(t[seen], values[seen], t[~seen])
            nearest = griddata(t[seen], values[seen], t[~seen], method="nearest")
            values[~seen] = np.where(np.isnan(inside), nearest, inside)
    return Filled(filled)


def neighbours(S: FloatArray, t: FloatArray, rng: np.random.Generator) -> Filled:  # noqa: ARG001
    """Average the k nearest rows, time or place among the columns, k chosen on hidden observed entries."""
    from ddibp.demo import baselines

    def nearest(T: FloatArray, k: int) -> FloatArray:
        return baselines.neighbours(T, k)

    filled, k = _tuned(nearest, _with_places(S, t), range(1, min(16, len(S)), 2), S.shape[1])
    return Filled(filled, facts={"choice": k})


def pca(S: FloatArray, t: FloatArray, rng: np.random.Generator) -> Filled:  # noqa: ARG001
    """Fit PCA and fill in turn, its rank chosen on hidden observed entries."""
    from ddibp.demo import baselines

    filled, rank = _tuned(baselines.pca, S, range(1, min(14, *S.shape), 2), S.shape[1])
    return Filled(filled, facts={"choice": rank})


def ridge(S: FloatArray, t: FloatArray, rng: np.random.Generator) -> Filled:
    """Regress columns on each other and on time in turn (IterativeImputer), by Bayesian ridge regression."""
    from sklearn.linear_model import BayesianRidge

    return _iterative(BayesianRidge(), S, t, rng, rounds=10)


def trees(S: FloatArray, t: FloatArray, rng: np.random.Generator) -> Filled:
    """Do the same with 50 extremely randomised trees a column ("missForest"), five rounds."""
    from sklearn.ensemble import ExtraTreesRegressor

    return _iterative(ExtraTreesRegressor(50, random_state=_seed(rng)), S, t, rng, rounds=5)


def gaussian_process(S: FloatArray, t: FloatArray, rng: np.random.Generator) -> Filled:  # noqa: ARG001
    """Fit a Gaussian process to every column, squared exponential plus noise, parameters by maximum likelihood."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    places = t.reshape(len(t), -1)
    span = float(np.ptp(places, axis=0).max())
    mean, sd = S.copy(), np.zeros_like(S)
    for m in range(S.shape[1]):
        seen = ~np.isnan(S[:, m])
        if seen.all():
            continue
        kernel = ConstantKernel(1.0, (1e-2, 1e2)) * RBF(span / 10.0, (span / 1e3, span * 10.0))
        process = GaussianProcessRegressor(kernel + WhiteKernel(0.3, (1e-4, 10.0)))
        process.fit(places[seen], S[seen, m])
        mean[~seen, m], sd[~seen, m] = process.predict(places[~seen], return_std=True)
    return Filled(mean, sd)


def dynamic_factors(S: FloatArray, t: FloatArray, rng: np.random.Generator) -> Filled:  # noqa: ARG001
    """Fit statsmodels' DynamicFactorMQ with five factors, which takes rows as equally spaced in time."""
    import pandas as pd
    from statsmodels.tsa.api import DynamicFactorMQ

    if t.ndim > 1:
        raise NotInTimeError("dynamic factors need rows in time, not in space.")
    order = np.argsort(t, kind="stable")
    # As a frame: with arrays that have holes, its starting values are NaN (statsmodels 0.15.0).
    with quiet():
        fitted = DynamicFactorMQ(pd.DataFrame(S[order]), factors=min(5, S.shape[1] - 1)).fit(disp=False, maxiter=100)
    mean = np.empty_like(S)
    mean[order] = np.asarray(fitted.predict(information_set="smoothed"))
    return Filled(mean)


def mefisto(S: FloatArray, t: FloatArray, rng: np.random.Generator) -> Filled:
    """Fit MEFISTO (mofapy2) with ten factors, smooth in time or place."""
    from mofapy2.run.entry_point import entry_point

    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        model = entry_point()
        model.set_data_options(scale_views=False, scale_groups=False)
        model.set_data_matrix([[S.copy()]])
        model.set_covariates([t.reshape(len(t), -1)])
        model.set_model_options(factors=10)
        model.set_train_options(seed=_seed(rng), convergence_mode="fast")
        model.set_smooth_options()
        model.build()
        model.run()
        model.impute()
    return Filled(np.asarray(model.imputed_data["mean"][0]).reshape(S.shape))


def others() -> dict[str, Method | None]:
    """Return the methods without features by name; None for one whose package is not installed."""
    return {
        "column mean": column_mean,
        "linear interpolation": linear,
        "k nearest rows, with t": neighbours,
        "iterative PCA": pca,
        "Bayesian ridge, with t": ridge,
        "extra trees, with t": trees,
        "Gaussian process a column": gaussian_process,
        "dynamic factors (statsmodels)": dynamic_factors if _installed("statsmodels") else None,
        "MEFISTO (mofapy2)": mefisto if _installed("mofapy2") else None,
    }


# -- features ----------------------------------------------------------------------------------------------------------


def features(prior: Any, *, draws: int, tune: int, chains: int = 1) -> Method:
    """Return the method of a prior of features, with the linear-Gaussian model and scales that are learned."""

    def method(S: FloatArray, t: FloatArray, rng: np.random.Generator) -> Filled:
        from ddibp import LinearGaussian, sample_posterior

        order = np.arange(len(S)) if t.ndim > 1 else np.argsort(t, kind="stable")
        posterior = sample_posterior(
            prior,
            LinearGaussian(),
            S[order],
            t[order] if prior.takes_covariates else None,
            draws=draws,
            tune=tune,
            chains=chains,
            n_jobs=1,
            seed=_seed(rng),
            progress=False,
        )
        best = posterior.map()
        found = posterior.imputations(PROBABILITY)
        tables = {name: S.copy() for name in ("mean", "sd", "low", "high", "best")}
        rows, columns = order[found.rows], found.columns
        tables["mean"][rows, columns] = posterior.reconstruction().mean[found.rows, columns]
        tables["best"][rows, columns] = (best.Z @ best.W)[found.rows, columns]
        for name in ("sd", "low", "high"):
            tables[name][rows, columns] = getattr(found, name)
        facts = {
            "features": float(posterior.n_features.mean()),
            "noise": float(np.mean([numbers["sigma_x"] for _, numbers in posterior.samples()])),
        }
        return Filled(**tables, facts=facts)

    return method


# -- what they share ---------------------------------------------------------------------------------------------------


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def _with_places(S: FloatArray, t: FloatArray) -> FloatArray:
    places = t.reshape(len(t), -1)
    return np.column_stack([S, (places - places.mean(axis=0)) / places.std(axis=0)])


def _tuned(
    method: Callable[[FloatArray, int], FloatArray], S: FloatArray, choices: range, n_columns: int
) -> tuple[FloatArray, int]:
    from ddibp.demo import baselines

    filled, choice = baselines.tuned(method, S, choices)
    return filled[:, :n_columns], choice


def _iterative(regressor: Any, S: FloatArray, t: FloatArray, rng: np.random.Generator, rounds: int) -> Filled:
    # The first import is not needed from scikit-learn 1.10 on.
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    imputer = IterativeImputer(regressor, max_iter=rounds, random_state=_seed(rng))
    return Filled(imputer.fit_transform(_with_places(S, t))[:, : S.shape[1]])


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence what other packages say about convergence: errors on hidden entries tell it better."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
