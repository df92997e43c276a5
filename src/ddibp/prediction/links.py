"""What new rows inherit: the probability of each fitted feature, and the rate of fresh ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp.priors import DDIBP, IBP
from ddibp.proximity import as_decay
from ddibp.proximity.metrics import as_points, embed
from ddibp.sampling.posterior import Posterior

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


class Newcomers:
    """New rows and the fitted rows that they may link to."""

    def __init__(self, posterior: Posterior, n_new: int, covariates: Any, groups: Any, prior: Any = None) -> None:
        self.prior = posterior.prior if prior is None else prior
        self.n_rows, self.n_new = len(posterior.observed), n_new
        if isinstance(self.prior, IBP):
            return
        if not isinstance(self.prior, DDIBP):
            raise TypeError(f"prior must be an IBP or a DDIBP, got {self.prior!r}.")
        self.learned = as_decay(self.prior.decay).learned
        self.distances = _distances(posterior, self.prior, n_new, covariates)
        if "groups" in posterior.context:
            self.distances[~_same_group(posterior.context["groups"], groups, n_new)] = np.inf
        elif groups is not None:
            raise ValueError("groups_new must be left out: the fit had no groups.")

    def inheritance(self, Z: BoolArray, numbers: dict[str, float]) -> tuple[FloatArray, FloatArray]:
        r"""Return :math:`p_k` of every new row, of shape (n_new, n_features), and its rate of fresh features."""
        alpha = numbers["alpha"]
        if isinstance(self.prior, IBP):
            p = np.tile(Z.sum(axis=0) / (self.n_rows + 1.0), (self.n_new, 1))
            return p, np.full(self.n_new, alpha / (self.n_rows + 1.0))
        decay = as_decay(self.prior.decay).set_params(**{name: numbers[name] for name in self.learned})
        log_f, itself = decay.log(self.distances), decay.log(0.0)
        if self.prior.cutoff > 0.0:
            log_f[log_f <= np.log(self.prior.cutoff)] = -np.inf
        f = np.exp(log_f - itself)  # at most 1, and 1 for the row itself
        h = 1.0 + f.sum(axis=1)
        return f @ Z / h[:, None], alpha * np.exp(-itself) / h


def _distances(posterior: Posterior, prior: DDIBP, n_new: int, covariates: Any) -> FloatArray:
    """Return distances from new rows (first axis) to fitted ones, infinite where the order of time forbids a link."""
    from scipy.spatial.distance import cdist

    if covariates is None:
        raise ValueError("covariates_new must be given: the prior links rows by their covariates.")
    fitted = posterior.context.get("covariates")
    if fitted is None:
        raise ValueError(
            "the posterior does not hold the covariates of its rows (it was given a Proximity or a sparse array), so "
            "that new rows have no place among them: fit with plain covariates, or put new rows into the fit as NaN."
        )
    if prior.metric == "precomputed":
        D = np.array(covariates, dtype=np.float64)
        if D.shape != (n_new, len(fitted)):
            raise ValueError(
                "covariates_new must hold the distances of new rows to fitted ones, "
                f"of shape {(n_new, len(fitted))}, got {D.shape}."
            )
        if np.isnan(D).any() or (D < 0.0).any():
            raise ValueError("covariates_new must hold distances, which are neither negative nor NaN.")
        return D
    old, new = as_points(fitted), as_points(covariates)
    if len(new) != n_new:
        raise ValueError(f"covariates_new describe {len(new)} rows, but X_new has {n_new}; they must match.")
    if new.shape[1] != old.shape[1]:
        raise ValueError(f"covariates_new have {new.shape[1]} columns, but those of the fit had {old.shape[1]}.")
    metric = prior.metric
    if metric == "seuclidean":
        D = cdist(new, old, metric, V=old.var(axis=0, ddof=1))
    elif metric == "mahalanobis":
        D = cdist(new, old, metric, VI=np.linalg.inv(np.atleast_2d(np.cov(old, rowvar=False))))
    else:
        here, there = embed(new, metric), embed(old, metric)
        D = there.from_tree(cdist(here.points, there.points, metric=there.metric))
    if prior.sequential and old.shape[1] == 1:
        D[new < old.T] = np.inf
    return np.asarray(D)


def _same_group(fitted: NDArray[Any], groups: Any, n_new: int) -> BoolArray:
    if groups is None:
        raise ValueError("groups_new must be given: the fit had groups, and rows link within their group alone.")
    labels = np.asarray(groups)
    if labels.shape != (n_new,):
        raise ValueError(f"groups_new must have one label per row, {n_new} in all, got shape {labels.shape}.")
    if (labels.dtype.kind in "SU") != (fitted.dtype.kind in "SU"):
        raise TypeError(f"groups_new must be labels like those of the fit, {fitted.dtype}; got {labels.dtype}.")
    return np.asarray(labels[:, None] == fitted[None, :])
