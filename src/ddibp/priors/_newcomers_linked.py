"""New rows that link to fitted rows, under the dd-IBP and the AIBD."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp.priors._newcomers import BoolArray, Extras, FloatArray, Inheritance, Numbers, Places
from ddibp.proximity import as_decay


class DecayingTies:
    """Ties of new rows to fitted ones by a decay of their distance."""

    def __init__(self, prior: Any, places: Places) -> None:
        self.prior, self.places = prior, places
        self.learned = as_decay(prior.decay).learned
        self.distances = places.distances(prior.metric, getattr(prior, "sequential", False))

    def log_decay(self, numbers: Numbers) -> tuple[FloatArray, float]:
        """Return the logs of the decay at the distances, and at 0."""
        decay = as_decay(self.prior.decay).set_params(**{name: numbers[name] for name in self.learned})
        log_f, itself = decay.log(self.distances), decay.log(0.0)
        if self.prior.cutoff > 0.0:
            log_f[log_f <= np.log(self.prior.cutoff)] = -np.inf
        return log_f, itself


class LinkedNewcomers(DecayingTies):
    r"""New rows of a dd-IBP to which no fitted row links.

    :math:`p_k = \sum_j f(d_{*j}) z_{jk} / h` with :math:`h = f(0) + \sum_j f(d_{*j})`, and Poisson(:math:`\alpha/h`)
    fresh features.
    """

    def inheritance(self, Z: BoolArray, numbers: Numbers, extras: Extras) -> Inheritance:  # noqa: ARG002
        """Return one component a row."""
        log_f, itself = self.log_decay(numbers)
        f = np.exp(log_f - itself)  # at most 1, and 1 for the row itself
        h = 1.0 + f.sum(axis=1)
        return Inheritance.plain(f @ Z / h[:, None], numbers["alpha"] * np.exp(-itself) / h)


class ArrivingNewcomers(DecayingTies):
    r"""New rows of an AIBD that arrive after all fitted rows of their group, N of them.

    :math:`p_k = \frac{N}{N+1} \sum_j \lambda_{*j} z_{jk} / \sum_j \lambda_{*j}`, and Poisson(:math:`\alpha/(N+1)`)
    fresh features, in whatever order the fitted rows have arrived.
    """

    def inheritance(self, Z: BoolArray, numbers: Numbers, extras: Extras) -> Inheritance:  # noqa: ARG002
        """Return one component a row."""
        log_f, _ = self.log_decay(numbers)
        together = self.places.same_group()
        before = np.full(len(log_f), float(log_f.shape[1])) if together is None else together.sum(axis=1).astype(float)
        top = log_f.max(axis=1, initial=-np.inf)
        lonely = (top == -np.inf) & (before > 0.0)
        if lonely.any():
            raise ValueError(
                f"covariates_new put row {int(np.argmax(lonely))} out of reach of all fitted rows, so that the AIBD "
                "does not say what it takes from them; use a decay that never vanishes (such as Exponential, with "
                "cutoff=0)."
            )
        attraction = np.exp(log_f - np.where(top > -np.inf, top, 0.0)[:, None])
        total = np.maximum(attraction.sum(axis=1), np.finfo(float).tiny)
        p = (before / (before + 1.0) / total)[:, None] * (attraction @ Z)
        return Inheritance.plain(p, numbers["alpha"] / (before + 1.0))
