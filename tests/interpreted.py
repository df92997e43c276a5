"""Short chains of every prior with every form of the likelihood: run once compiled, once as plain Python.

``NUMBA_DISABLE_JIT=1 python tests/interpreted.py FILE`` writes the packed states; `test_state` compares.
"""

from __future__ import annotations

import sys

import numpy as np

from ddibp import AIBD, DDIBP, DHBP, DIBP, IBP, Exponential, Gamma, Window
from ddibp.likelihoods import LinearGaussian
from ddibp.sampling.sampler import PosteriorSampler

T = np.array([0.0, 0.4, 1.0, 1.1, 2.3, 2.4, 3.9])
D = np.abs(T[:, None] - T) * (1.0 + 0.3 * np.sin(np.arange(49.0).reshape(7, 7)))
MASS, RATE = Gamma(4.0, 3.0), Gamma(4.0, 3.0)
PRIORS = {
    "ibp": (IBP(MASS), None),
    "sequential": (DDIBP(Exponential(RATE), alpha=MASS, sequential=True), T),
    "symmetric": (DDIBP(Exponential(RATE), alpha=MASS), T),
    "asymmetric": (DDIBP(Exponential(0.7), alpha=MASS, metric="precomputed"), D),
    "sequential window": (DDIBP(Window(1.5), alpha=MASS, sequential=True), T),
    "window": (DDIBP(Window(1.5), alpha=MASS), T),
    "customer": (DHBP(Exponential(RATE), gamma=MASS, c0=RATE, c1=RATE), T),
    "dish": (DHBP(Exponential(RATE), gamma=MASS, c0=RATE, c1=RATE, coupling="dish"), T),
    "aibd": (AIBD(Exponential(RATE), alpha=MASS), T),
    "aibd in any order": (AIBD(Exponential(RATE), alpha=MASS, permutation="uniform"), T),
    "dibp": (DIBP("matern32", alpha=MASS, length_scale=RATE, nugget=RATE), T),
}
# Name: number of outputs, share of entries that are missing, weights summed out.
FORMS = {
    "collapsed": (4, 0.0, True),
    "collapsed, missing": (4, 0.2, True),
    "reduced": (11, 0.0, True),
    "reduced, missing": (11, 0.2, True),
    "instantiated": (4, 0.0, False),
    "instantiated, missing": (4, 0.2, False),
}


def data(n_rows, n_outputs, missing, noise, rng, n_features=3):
    """Return data of a few features with little noise; the last row is lost when any entry is."""
    Z = rng.random((n_rows, n_features)) < 0.5
    X = Z @ rng.standard_normal((n_features, n_outputs)) + noise * rng.standard_normal((n_rows, n_outputs))
    X[rng.random(X.shape) < missing] = np.nan
    if missing:
        X[-1] = np.nan
    return X


def sampler(prior, form, schedule="default", start="prior"):
    """Return the sampler of one pair, by name."""
    n_outputs, missing, collapsed = FORMS[form]
    spec, covariates = PRIORS[prior]
    X = data(len(T), n_outputs, missing, 0.2, np.random.default_rng(8))
    likelihood = LinearGaussian(Gamma(4.0, 12.0), Gamma(4.0, 4.0), collapsed=collapsed)
    return PosteriorSampler(spec, likelihood, X, covariates, schedule=schedule, start=start)


def every_move(prior, form):
    """Return a schedule with every move that the pair has."""
    return [(name, 1.0) for name in sampler(prior, form).moves]


def states(n_sweeps=6):
    """Return the packed final states of short chains, as one dictionary of arrays."""
    result = {}
    for p, prior in enumerate(PRIORS):
        for f, form in enumerate(FORMS):
            chain = sampler(prior, form, every_move(prior, form), ("data", "prior")[(p + f) % 2])
            state = chain.start(np.random.default_rng(100 + 10 * p + f))
            for _ in range(n_sweeps):
                chain.sweep(state)
            arrays = chain.pack(state) | {"numbers": np.array([state.alpha, *state.parameters.values()])}
            result |= {f"{prior}/{form}/{name}": array for name, array in arrays.items()}
    return result


if __name__ == "__main__":
    np.savez(sys.argv[1], **states())
