"""Averages over what one posterior draw, or several, say about new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp import _check
from ddibp._random import RandomState, as_generator
from ddibp.likelihoods.linear_gaussian import check_data
from ddibp.prediction import rows
from ddibp.prediction.newcomers import newcomers
from ddibp.priors._newcomers import Newcomers
from ddibp.sampling.posterior import Posterior

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_OTHERS_OF_ONE, _OTHERS_OF_MANY = 64, 16  # what is off in the sums of one draw averages out over many


@dataclass(frozen=True, eq=False)
class Extension:
    """Features of new rows, in the columns of the fitted features of `Posterior.map`.

    Attributes
    ----------
    probabilities : ndarray of float, shape (n_new, n_features)
        Probability that a new row has a feature, given what was observed of it.
    fresh : ndarray of float, shape (n_new,)
        Expected number of features that no fitted row has.
    mean, sd : ndarray of float, shape (n_new, n_outputs)
        Of what the row would be without noise, all its features together, fresh ones included.
    draws : ndarray of bool, shape (n_draws, n_new, n_features)
        As many joint draws of the features of each row as were asked for.
    """

    probabilities: FloatArray
    fresh: FloatArray
    mean: FloatArray
    sd: FloatArray
    draws: BoolArray


@dataclass(frozen=True, eq=False)
class Prediction:
    """What new rows are and might have been, over posterior draws.

    Attributes
    ----------
    log_density : ndarray of float, shape (n_new,)
        Log of the posterior predictive density of the observed entries of each row; 0 where there are none.
    mean, sd : ndarray of float, shape (n_new, n_outputs)
        Of what the row would be without noise. The mean is also the imputation of a missing entry.
    noise : ndarray of float, shape (n_new,)
        Standard deviation of the noise: a missing entry has the variance ``sd**2 + noise**2``.
    completions : ndarray of float, shape (n_completions, n_new, n_outputs)
        Draws of the rows: missing entries jointly drawn, observed ones as they are.
    """

    log_density: FloatArray
    mean: FloatArray
    sd: FloatArray
    noise: FloatArray
    completions: FloatArray


def extend(
    posterior: Posterior,
    X_new: Any,
    covariates_new: Any = None,
    *,
    groups_new: Any = None,
    draws: int = 0,
    prior: Any = None,
    rng: RandomState = 0,
) -> Extension:
    """Return the features of new rows given the fitted features of the best draw (`Posterior.map`), whose columns stay.

    Parameters
    ----------
    posterior : Posterior
        The fit.
    X_new : array-like of shape (n_new, n_outputs)
        New rows; NaN where missing, in any pattern. A row of NaN alone is a prediction from its covariates.
    covariates_new : array-like of shape (n_new,) or (n_new, n_columns), optional
        Where the new rows are, in the units of the fit; for ``metric="precomputed"`` the distances to the fitted rows,
        of shape (n_new, n_rows). The IBP takes none.
    groups_new : array-like of shape (n_new,), optional
        Groups of the new rows, if the fit had groups. They link to fitted rows of their group alone.
    draws : int, optional
        Number of joint draws of the features to return as well.
    prior : prior, optional
        The prior of the fit, which the posterior itself cannot tell if it holds a function of yours.
    rng : int, SeedSequence, Generator or None, optional
        For the draws, and for the sums over features where more than 12 are possible, which are then simulated.

    Returns
    -------
    Extension
        Probabilities of the features, draws of them, and the row without noise.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import DDIBP, Exponential, LinearGaussian, prediction, sample_posterior
    >>> t = np.arange(20.0)
    >>> X = np.outer(t >= 10, [2.0, -1.0]) + 0.1 * np.random.default_rng(0).normal(size=(20, 2))
    >>> prior = DDIBP(Exponential(0.5), alpha=1.0, sequential=True)
    >>> plan = {"draws": 100, "tune": 50, "chains": 2, "progress": False}
    >>> posterior = sample_posterior(prior, LinearGaussian(0.1, 1.0), X, covariates=t, **plan)
    >>> new = [[2.1, np.nan], [np.nan, np.nan]]
    >>> found = prediction.extend(posterior, new, [14.5, 20.0])
    >>> found.probabilities.round(1)
    array([[1. ],
           [0.6]])
    >>> found.mean.round(1)
    array([[ 2. , -1. ],
           [ 1.2, -0.6]])
    """
    X, arrivals = _placed(posterior, X_new, covariates_new, groups_new, prior)
    n_draws = _check.count("draws", draws)
    generator = as_generator(rng)
    seed = int(generator.integers(2**62))
    best = posterior.map()
    inherited = arrivals.inheritance(best.Z, best.scalars, best.extras)
    weights = rows.weigh(posterior.observed, best.Z, best.scalars)
    n, K = len(X), best.Z.shape[1]
    found = Extension(
        np.empty((n, K)), np.empty(n), np.empty(X.shape), np.empty(X.shape), np.empty((n_draws, n, K), bool)
    )
    for part in rows.mixed_sums(weights, X, inherited, n_draws, _OTHERS_OF_ONE, seed, generator):
        found.probabilities[part.rows] = part.probabilities
        found.fresh[part.rows] = part.fresh
        found.mean[part.rows] = part.mean
        found.sd[part.rows] = np.sqrt(part.variance)
        found.draws[:, part.rows] = part.features
    return found


def predict(
    posterior: Posterior,
    X_new: Any,
    covariates_new: Any = None,
    *,
    groups_new: Any = None,
    draws: int = 100,
    completions: int = 0,
    prior: Any = None,
    rng: RandomState = 0,
) -> Prediction:
    """Return the predictive density of new rows and their missing entries, averaged over posterior draws.

    Densities are averaged, not their logs; the missing entries of a row are averaged with the density of its observed
    entries as weights of the draws, as Bayes' rule has it.

    Parameters
    ----------
    posterior, X_new, covariates_new, groups_new
        As in `extend`.
    draws : int, optional
        Number of posterior draws to average over, evenly spaced; all if there are fewer.
    completions : int, optional
        Number of draws of the missing entries to return as well.
    prior : prior, optional
        As in `extend`.
    rng : int, SeedSequence, Generator or None, optional
        For the completions, and for sums over more than 12 features.

    Returns
    -------
    Prediction
        Log densities, means, standard deviations, draws.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import IBP, LinearGaussian, prediction, sample_posterior
    >>> X = [[2.0, 0.0, 1.0], [2.1, 0.1, 1.1], [0.0, -0.1, 0.1]]
    >>> plan = {"draws": 100, "tune": 50, "chains": 2, "progress": False}
    >>> posterior = sample_posterior(IBP(1.0), LinearGaussian(0.1, 1.0), X, **plan)
    >>> found = prediction.predict(posterior, [[1.9, 0.0, np.nan], [-3.0, 3.0, np.nan]])
    >>> bool(found.log_density[0] > found.log_density[1])
    True
    >>> found.mean.round(1)[0, 2], found.completions.shape
    (np.float64(1.0), (0, 2, 3))
    """
    X, arrivals = _placed(posterior, X_new, covariates_new, groups_new, prior)
    draws = _check.count("draws", draws, low=1)
    n_completions = _check.count("completions", completions)
    generator = as_generator(rng)
    seed = int(generator.integers(2**62))
    n = len(X)
    log_total, mean, noise = np.full(n, -np.inf), np.zeros(X.shape), np.zeros(n)
    within, between = np.zeros(X.shape), np.zeros(X.shape)
    kept = np.empty((n_completions, *X.shape))
    n_draws = 0
    for Z, numbers, extras in posterior.full_samples(draws):
        n_draws += 1
        inherited = arrivals.inheritance(Z, numbers, extras)
        weights = rows.weigh(posterior.observed, Z, numbers)
        for part in rows.mixed_sums(weights, X, inherited, n_completions, _OTHERS_OF_MANY, seed, generator):
            i = part.rows
            log_total[i] = np.logaddexp(log_total[i], part.log_density)
            share = np.exp(part.log_density - log_total[i])  # of this draw among those so far
            delta = part.mean - mean[i]
            between[i] = (1.0 - share[:, None]) * (between[i] + share[:, None] * delta**2)
            within[i] += share[:, None] * (part.variance - within[i])
            mean[i] += share[:, None] * delta
            noise[i] += share * (weights.variance - noise[i])
            taken = generator.random((n_completions, len(i))) < share
            kept[:, i] = np.where(taken[:, :, None], part.entries, kept[:, i])
    return Prediction(log_total - np.log(n_draws), mean, np.sqrt(within + between), np.sqrt(noise), kept)


def _placed(
    posterior: Posterior, X_new: Any, covariates_new: Any, groups_new: Any, prior: Any
) -> tuple[FloatArray, Newcomers]:
    """Return checked new rows and who they may link to."""
    X = check_data(X_new)
    n_outputs = posterior.observed.shape[1]
    if X.shape[1] != n_outputs:
        raise ValueError(f"X_new has {X.shape[1]} columns, but the fit had {n_outputs}; they must match.")
    return X, newcomers(posterior, len(X), covariates_new, groups_new, prior)
