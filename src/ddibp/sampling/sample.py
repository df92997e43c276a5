"""The way in: a prior, a likelihood and data make a posterior."""

from __future__ import annotations

import os
from typing import Any

from ddibp._random import RandomState
from ddibp.contract import Schedule
from ddibp.likelihoods import LinearGaussian
from ddibp.sampling.chains import run
from ddibp.sampling.posterior import Posterior
from ddibp.sampling.sampler import PosteriorSampler


def sample_posterior(
    prior: Any,
    likelihood: LinearGaussian,
    X: Any,
    covariates: Any = None,
    *,
    groups: Any = None,
    draws: int = 1000,
    tune: int = 500,
    chains: int = 4,
    thin: int = 1,
    seed: RandomState = 0,
    n_jobs: int | None = None,
    schedule: Schedule | str = "default",
    start: str = "data",
    checkpoint: str | os.PathLike[str] | None = None,
    flush_seconds: float = 30.0,
    progress: bool = True,
) -> Posterior:
    r"""Draw features, weights, scales, mass and decay parameters from their posterior, by Markov chains.

    Parameters
    ----------
    prior : IBP, DDIBP, DHBP, AIBD or DIBP
        Law of the features Z. A mass or another parameter that is given as a `Gamma` is learned.
    likelihood : LinearGaussian
        Law of the data given Z. A scale that is given as a `Gamma` is learned.
    X : array-like of shape (n_rows, n_outputs)
        Data, one row per observation; NaN where missing, in any pattern. A row without data is a prediction.
    covariates : array-like of shape (n_rows,) or (n_rows, n_columns), or Proximity, optional
        Time, place, age, ... of every row, as for `DDIBP.sample`; the IBP takes none.
    groups : array-like of shape (n_rows,), optional
        Labels of groups of rows that share no features, such as recording sessions (that are independent: dIBP).
    draws, tune, chains, thin : int, optional
        Draws to keep of every chain, iterations before the first, number of chains (a restart is a chain), and
        iterations per draw.
    seed : int, SeedSequence, Generator or None, optional
        Fixes the result, whatever ``n_jobs`` is.
    n_jobs : int, optional
        Chains that run at the same time: threads, or what ``joblib.parallel_config`` says; -1 for all cores.
    schedule : str or list of (str, float), optional
        What an iteration does: moves by name, with how often each runs. ``"default"`` suits nearly all data,
        ``"paper"`` is the published algorithm of the dd-IBP (for comparison); see the guide for the moves.
    start : {"data", "prior", "empty"}, optional
        Where chains begin: features that follow the data one after the other, a draw of the prior, or no features.
    checkpoint : path, optional
        Folder that keeps the run. The same call resumes it after an interruption, to the same draws.
    flush_seconds : float, optional
        Longest time between writes to the folder: what a killed process can lose.
    progress : bool, optional
        Whether to show bars, where there is a terminal.

    Returns
    -------
    Posterior
        The draws. After Ctrl-C, those that there are.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import DDIBP, Exponential, LinearGaussian, sample_posterior
    >>> t = np.arange(20.0)
    >>> X = np.outer(t >= 10, [2.0, -1.0]) + 0.1 * np.random.default_rng(0).normal(size=(20, 2))
    >>> X[3, 0] = np.nan
    >>> prior = DDIBP(Exponential(0.5), alpha=1.0, sequential=True)
    >>> posterior = sample_posterior(
    ...     prior, LinearGaussian(sigma_x=0.1, sigma_w=1.0), X, covariates=t, draws=200, tune=50, chains=2
    ... )
    >>> posterior.map().Z[:, 0].astype(int)
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    >>> bool(abs(posterior.completed()[3, 0]) < 0.1)
    True
    """
    sampler = PosteriorSampler(prior, likelihood, X, covariates, groups=groups, schedule=schedule, start=start)
    return run(
        sampler,
        draws=draws,
        tune=tune,
        chains=chains,
        seed=seed,
        n_jobs=n_jobs,
        checkpoint=checkpoint,
        progress=progress,
        thin=thin,
        flush_seconds=flush_seconds,
    )
