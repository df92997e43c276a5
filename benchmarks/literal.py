"""The literal reference of tests/reference on the state of a chain: the same work is checked, then visits are timed."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from tests.reference.gibbs_ibp import GibbsIBP
from tests.reference.gibbs_ibp import State as StateIBP
from tests.reference.linear_gaussian import log_collapsed
from tests.reference.paper_sampler import PaperSampler
from tests.reference.paper_sampler import State as StatePaper

from benchmarks.states import SIGMA_W
from ddibp import DDIBP
from ddibp.moves import evidence as ev
from ddibp.sampling.sampler import PosteriorSampler
from ddibp.sampling.state import ChainState


class Literal(NamedTuple):
    """A reference sampler with its state."""

    sampler: Any
    state: Any


class Visits(NamedTuple):
    """Seconds per visited (row, feature), of which for two likelihoods, and how many visits were timed."""

    seconds: float
    likelihood: float
    number: int


def literal_of(sampler: PosteriorSampler, state: ChainState) -> Literal:
    """Return the reference at the same features, links, owners and parameters."""
    K = state.n_features
    X, sigma_x = state.data.copy(), float(state.lik.scales[0])
    given = {"sigma_x": sigma_x, "sigma_w": SIGMA_W, "alpha": state.alpha}
    if not isinstance(sampler.prior, DDIBP):
        return Literal(GibbsIBP(X, **given), StateIBP(state.Z.astype(float), state.alpha, sigma_x, X))
    proximity = state.process.proximity
    paper = PaperSampler(X, proximity.matrix.toarray(), proximity.normalisers, **given)
    links = np.ascontiguousarray(state.links[:K].T).astype(int)
    return Literal(paper, StatePaper(links, state.owners[:K].copy(), state.alpha, sigma_x, X))


def require_same_work(sampler: PosteriorSampler, state: ChainState, literal: Literal) -> None:
    """Raise unless both have the same features, log likelihood, and gain of evidence from switching one entry."""
    Z = np.array(literal.state.Z, dtype=float)
    if not np.array_equal(Z, state.Z):
        raise AssertionError("the reference has other features than the chain")

    def reference(Z: Any) -> float:
        return log_collapsed(literal.state.X, Z, literal.state.sigma_x, literal.sampler.sigma_w)

    likelihood = sampler.likelihood.set_params(sigma_x=float(state.lik.scales[0]))
    ours, theirs = likelihood.logpdf(sampler.observed, state.Z), reference(Z)
    k, i = state.n_features - 1, sampler.n_rows // 2
    ev.prepare(state.lik, sampler.likelihood.collapsed, k, state.evidence, state.work)
    before = ev.score(state.evidence)
    sign = -1.0 if state.lik.z[k, i] else 1.0
    ev.apply(state.evidence, state.evidence.rows[i], 1.0, sign)
    gain = ev.score(state.evidence) - before
    Z[i, k] = 1.0 - Z[i, k]
    expected = reference(Z) - theirs
    scale = abs(theirs)
    if not (abs(ours - theirs) <= 1e-10 * scale and abs(gain - expected) <= 1e-6 + 1e-10 * scale):
        raise AssertionError(f"log likelihood {ours} against {theirs}, gain of one entry {gain} against {expected}")


def time_visits(literal: Literal, seconds: float, seed: int = 0) -> Visits:
    """Time visits of random rows and features by the reference, for about so many seconds (at least two visits)."""
    rng = np.random.default_rng(seed)
    sampler, state = literal
    linked = isinstance(sampler, PaperSampler)
    Z = np.array(state.Z, dtype=float)
    n, K = Z.shape
    spent, number = 0.0, 0
    while number < 2 or spent < seconds:
        i = int(rng.integers(n))
        if linked:
            k = int(rng.choice(np.flatnonzero(state.owners != i)))  # an owner's link costs nothing: it has no effect
            begin = time.process_time()
            sampler.link(state, Z, i, k, rng)
            number += 1
        else:
            begin = time.process_time()
            sampler.shared_dishes(state, i, rng)
            number += K
        spent += time.process_time() - begin
    begin = time.process_time()
    for _ in range(10):
        log_collapsed(state.X, Z, state.sigma_x, SIGMA_W)
    return Visits(spent / number, 2 * (time.process_time() - begin) / 10, number)
