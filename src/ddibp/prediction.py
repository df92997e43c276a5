r"""New rows given a posterior: their features, their missing entries, and how well they were foreseen.

**The conditioning.** Under the dd-IBP, adding a row changes the law of the others (they may link to it), so "a new row
given the fitted ones" has to be defined. Here new rows may link to fitted rows and to themselves, but no fitted row
links to a new one. That is a dd-IBP in its own right, whose law of the fitted rows is the fitted one, so that the
conditional law of a new row is exact: given the features Z of the fitted rows and the decay at distances d to them,

.. math:: p_k = \frac{1}{h_*}\sum_j f(d_{*j})\, z_{jk}, \qquad h_* = f(0) + \sum_j f(d_{*j}),

row \* has feature k with probability :math:`p_k`, independently over k, and Poisson(:math:`\alpha/h_*`) fresh features
that no fitted row has. For rows that are appended to a sequential prior's this is the prior's own law. Under a
sequential prior of one covariate, j runs over the fitted rows that are not later than the new one; with several columns
or precomputed distances new rows come after all fitted ones. A row between fitted ones therefore learns nothing from
the features of later rows: to interpolate with both sides, fit with the row in place, as NaN. For the IBP
:math:`p_k = m_k/(N+1)`, with Poisson(:math:`\alpha/(N+1)`) fresh features, where :math:`m_k` fitted rows have k.

Every new row stands alone: new rows do not link to each other and learn nothing from each other. Weights are summed
out given the fitted data, each fresh feature adds :math:`\sigma_w^2` to the variance of the row, and an entry that is
NaN takes no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp._random import RandomState
from ddibp.sampling.posterior import Posterior

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


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
    prior : IBP or DDIBP, optional
        The prior of the fit, which the posterior itself cannot tell if it holds a function of yours.
    rng : int, SeedSequence, Generator or None, optional
        For the draws, and for the sums over features where more than 12 are possible, which are then simulated.

    Returns
    -------
    Extension
        Probabilities of the features, draws of them, and the row without noise.
    """
    raise NotImplementedError


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
    posterior, X_new, covariates_new, groups_new, prior
        As in `extend`.
    draws : int, optional
        Number of posterior draws to average over, evenly spaced; all if there are fewer.
    completions : int, optional
        Number of draws of the missing entries to return as well.
    rng : int, SeedSequence, Generator or None, optional
        For the completions, and for sums over more than 12 features.

    Returns
    -------
    Prediction
        Log densities, means, standard deviations, draws.
    """
    raise NotImplementedError
