"""What every prior is asked of new rows, given one posterior draw: which fitted features they inherit, how many fresh.

Every new row stands alone, and fitted rows stay as they are. A prior answers ``newcomers(places)`` with something that
answers `Newcomers`; `Places` knows where the rows are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ddibp.proximity.metrics import as_points, embed

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Numbers = Mapping[str, float]
Extras = Mapping[str, NDArray[Any]]


class Inheritance(NamedTuple):
    """What new rows inherit: a mixture, within whose components features are independent.

    Attributes
    ----------
    row : ndarray of int, shape (n_components,)
        The new row that a component belongs to, ascending.
    weight : ndarray of float, shape (n_components,)
        Probability of the component; 1 in sum for every row.
    p : ndarray of float, shape (n_components, n_features)
        Probability of every fitted feature.
    rate : ndarray of float, shape (n_components,)
        Rate of the Poisson number of features that no fitted row has.
    """

    row: NDArray[np.intp]
    weight: FloatArray
    p: FloatArray
    rate: FloatArray

    @classmethod
    def plain(cls, p: FloatArray, rate: FloatArray) -> Self:
        """Return an inheritance of one component a row."""
        return cls(np.arange(len(p)), np.ones(len(p)), p, rate)

    @property
    def is_plain(self) -> bool:
        """Whether every row has one component."""
        return len(self.row) == 0 or len(self.row) == self.row[-1] + 1


class Newcomers(Protocol):
    """New rows among the fitted ones, under a prior."""

    def inheritance(self, Z: BoolArray, numbers: Numbers, extras: Extras) -> Inheritance:
        """Return what the rows inherit given the features of a draw, its numbers, and what its chain kept besides."""


@dataclass(frozen=True, eq=False)
class Places:
    """Where new rows are, and where the fitted ones."""

    n_rows: int
    n_new: int
    fitted: Mapping[str, NDArray[Any]]
    covariates: Any
    groups: Any

    def require(self) -> tuple[Any, NDArray[Any]]:
        """Return the covariates of new and of fitted rows, or say which are missing."""
        if self.covariates is None:
            raise ValueError("covariates_new must be given: the prior links rows by their covariates.")
        fitted = self.fitted.get("covariates")
        if fitted is None:
            raise ValueError(
                "the posterior does not hold the covariates of its rows (it was given a Proximity or a sparse array), "
                "so that new rows have no place among them: fit with plain covariates, or put new rows into the fit as "
                "NaN."
            )
        return self.covariates, fitted

    def points(self) -> tuple[FloatArray, FloatArray]:
        """Return the points of new and of fitted rows."""
        covariates, fitted = self.require()
        old, new = as_points(fitted), as_points(covariates)
        if len(new) != self.n_new:
            raise ValueError(f"covariates_new describe {len(new)} rows, but X_new has {self.n_new}; they must match.")
        if new.shape[1] != old.shape[1]:
            raise ValueError(f"covariates_new have {new.shape[1]} columns, but those of the fit had {old.shape[1]}.")
        return new, old

    def distances(self, metric: Any, sequential: bool) -> FloatArray:
        """Return distances from new rows (first axis) to fitted ones, infinite where groups or time forbid a link."""
        D = self._measured(metric, sequential)
        together = self.same_group()
        if together is not None:
            D[~together] = np.inf
        return D

    def _measured(self, metric: Any, sequential: bool) -> FloatArray:
        from scipy.spatial.distance import cdist

        covariates, fitted = self.require()
        if metric == "precomputed":
            D = np.array(covariates, dtype=np.float64)
            if D.shape != (self.n_new, len(fitted)):
                raise ValueError(
                    "covariates_new must hold the distances of new rows to fitted ones, "
                    f"of shape {(self.n_new, len(fitted))}, got {D.shape}."
                )
            if np.isnan(D).any() or (D < 0.0).any():
                raise ValueError("covariates_new must hold distances, which are neither negative nor NaN.")
            return D
        new, old = self.points()
        if metric == "seuclidean":
            D = cdist(new, old, metric, V=old.var(axis=0, ddof=1))
        elif metric == "mahalanobis":
            D = cdist(new, old, metric, VI=np.linalg.inv(np.atleast_2d(np.cov(old, rowvar=False))))
        else:
            here, there = embed(new, metric), embed(old, metric)
            D = there.from_tree(cdist(here.points, there.points, metric=there.metric))
        if sequential and old.shape[1] == 1:
            D[new < old.T] = np.inf
        return np.asarray(D)

    def same_group(self) -> BoolArray | None:
        """Return which fitted rows are of a new row's group; None if there are no groups."""
        fitted = self.fitted.get("groups")
        if fitted is None:
            if self.groups is not None:
                raise ValueError("groups_new must be left out: the fit had no groups.")
            return None
        if self.groups is None:
            raise ValueError("groups_new must be given: the fit had groups, and rows link within their group alone.")
        labels = np.asarray(self.groups)
        if labels.shape != (self.n_new,):
            raise ValueError(f"groups_new must have one label per row, {self.n_new} in all, got shape {labels.shape}.")
        if (labels.dtype.kind in "SU") != (fitted.dtype.kind in "SU"):
            raise TypeError(f"groups_new must be labels like those of the fit, {fitted.dtype}; got {labels.dtype}.")
        return np.asarray(labels[:, None] == fitted[None, :])


class ExchangeableNewcomers:
    r"""New rows under the IBP: :math:`p_k = m_k/(N+1)`, and Poisson(:math:`\alpha/(N+1)`) fresh features."""

    def __init__(self, places: Places) -> None:
        self.places = places

    def inheritance(self, Z: BoolArray, numbers: Numbers, extras: Extras) -> Inheritance:  # noqa: ARG002
        """Return the same for all rows."""
        n, n_new = self.places.n_rows, self.places.n_new
        p = np.tile(Z.sum(axis=0) / (n + 1.0), (n_new, 1))
        return Inheritance.plain(p, np.full(n_new, numbers["alpha"] / (n + 1.0)))


def kept(extras: Extras, name: str) -> NDArray[Any]:
    """Return what a chain kept of a draw, or say that it did not."""
    if name not in extras:
        raise ValueError(
            f"posterior holds no {name} of its draws, by which new rows inherit under this prior: it comes from another"
            " sampler or from an older version. Fit anew."
        )
    return extras[name]
