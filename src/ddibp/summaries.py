"""Summaries that do not depend on the order of features, and the matching of features across draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddibp import _check

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_COLUMNS_AT_ONCE = 4096
_PARTS = ("reconstruction.", "imputed.", "best.")


class Moments:
    """Running mean and sum of squared deviations of arrays of one shape.

    Examples
    --------
    >>> import numpy as np
    >>> moments = Moments((2,))
    >>> for x in ([1.0, 5.0], [3.0, 5.0]):
    ...     moments.add(np.array(x))
    >>> moments.mean, moments.sd
    (array([2., 5.]), array([1.41421356, 0.        ]))
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.count = 0
        self.mean: FloatArray = np.zeros(shape)
        self.squares: FloatArray = np.zeros(shape)

    def add(self, x: FloatArray) -> None:
        """Take in one array (Welford)."""
        self.count += 1
        delta = x - self.mean
        self.mean += delta / self.count
        self.squares += delta * (x - self.mean)

    def merge(self, other: Moments) -> None:
        """Take in all that another one has seen (Chan, Golub and LeVeque)."""
        total = self.count + other.count
        if total == 0:
            return
        delta = other.mean - self.mean
        self.mean += delta * (other.count / total)
        self.squares += other.squares + delta**2 * (self.count * other.count / total)
        self.count = total

    @property
    def sd(self) -> FloatArray:
        """Standard deviation with n - 1 in the denominator; NaN after fewer than two arrays."""
        if self.count < 2:
            return np.full(self.mean.shape, np.nan)
        return np.asarray(np.sqrt(self.squares / (self.count - 1)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the contents by name."""
        return {"count": np.array(self.count), "mean": self.mean, "squares": self.squares}

    @classmethod
    def from_arrays(cls, count: NDArray[Any], mean: FloatArray, squares: FloatArray) -> Self:
        """Make it of what `to_arrays` has returned."""
        moments = cls(mean.shape)
        moments.count, moments.mean, moments.squares = int(count), np.array(mean), np.array(squares)
        return moments


@dataclass(frozen=True, eq=False)
class BestDraw:
    """The draw with the largest joint probability.

    Attributes
    ----------
    Z : ndarray of bool, shape (n_rows, n_features)
    W : ndarray of float, shape (n_features, n_outputs)
    scalars : dict
        All numbers of the draw by name.
    chain, draw : int
        Where it was found.
    extras : dict of str to ndarray
        What else the chain kept of it, such as the lenders of a dHBP.
    """

    Z: BoolArray
    W: FloatArray
    scalars: dict[str, float]
    chain: int
    draw: int
    extras: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def log_joint(self) -> float:
        """Log joint probability; minus infinity where it is not a number."""
        value = self.scalars["log_joint"]
        return value if value == value else -np.inf


class ChainSummary:
    """What is kept of all draws of a chain: moments of ZW and of imputed values, and the best draw."""

    def __init__(self, n_rows: int, n_outputs: int, n_missing: int) -> None:
        self.reconstruction = Moments((n_rows, n_outputs))
        self.imputed = Moments((n_missing,))
        self.best: BestDraw | None = None

    def add(self, draw: BestDraw, reconstruction: FloatArray, imputed: FloatArray) -> None:
        """Take in one draw."""
        self.reconstruction.add(reconstruction)
        self.imputed.add(imputed)
        if self.best is None or draw.log_joint > self.best.log_joint:
            extras = {name: array.copy() for name, array in draw.extras.items()}
            self.best = BestDraw(draw.Z.copy(), draw.W.copy(), draw.scalars, draw.chain, draw.draw, extras)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the contents by name."""
        moments = {"reconstruction": self.reconstruction, "imputed": self.imputed}
        arrays = {f"{name}.{key}": value for name, m in moments.items() for key, value in m.to_arrays().items()}
        if self.best is not None:
            arrays |= {"best.Z": self.best.Z, "best.W": self.best.W}
            arrays["best.where"] = np.array([self.best.chain, self.best.draw])
            arrays["best.names"] = np.array(list(self.best.scalars))
            arrays["best.values"] = np.array(list(self.best.scalars.values()))
            arrays |= {f"best.extra.{name}": array for name, array in self.best.extras.items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make it of what `to_arrays` has returned, among other things or not."""
        summary = cls(0, 0, 0)
        parts = {part: {k.removeprefix(part): v for k, v in arrays.items() if k.startswith(part)} for part in _PARTS}
        summary.reconstruction, summary.imputed = (Moments.from_arrays(**parts[part]) for part in _PARTS[:2])
        if best := parts["best."]:
            scalars = dict(zip(best["names"].tolist(), best["values"].tolist(), strict=True))
            extras = {k.removeprefix("extra."): v for k, v in best.items() if k.startswith("extra.")}
            chain, number = (int(x) for x in best["where"])
            summary.best = BestDraw(best["Z"], best["W"], scalars, chain, number, extras)
        return summary


def reconstruct(Z: BoolArray, W: FloatArray) -> FloatArray:
    """Return ZW.

    Examples
    --------
    >>> reconstruct(np.array([[True, True], [True, False]]), np.array([[1.0, 2.0], [10.0, 20.0]]))
    array([[11., 22.],
           [ 1.,  2.]])
    """
    # Not @: the last bits of a BLAS product depend on how many threads it has, and those of a run must not.
    return np.asarray(np.einsum("nk,km->nm", Z.astype(np.float64), W))


def mean_sharing(Z: BoolArray) -> float:
    """Return the mean entry of ZZ', the number of features that two rows share, a row and itself included.

    Examples
    --------
    >>> mean_sharing(np.array([[True, True], [True, False]]))
    1.25
    """
    return float(np.square(Z.sum(axis=0, dtype=np.float64)).sum()) / Z.shape[0] ** 2


def expected_sharing(draws: Iterable[BoolArray], n_rows: int) -> FloatArray:
    """Return the mean of ZZ' over draws.

    Examples
    --------
    >>> expected_sharing([np.array([[True, True], [True, False]]), np.zeros((2, 0), bool)], 2)
    array([[1. , 0.5],
           [0.5, 0.5]])
    """
    total = np.zeros((n_rows, n_rows))
    nothing = np.zeros((n_rows, 0), dtype=bool)
    waiting, columns, n_draws = [nothing], 0, 0
    for Z in draws:
        waiting.append(Z)
        columns += Z.shape[1]
        n_draws += 1
        if columns >= _COLUMNS_AT_ONCE:
            total += _gram(waiting)
            waiting, columns = [nothing], 0
    if n_draws == 0:
        raise ValueError("draws must hold at least one matrix, got none.")
    return np.asarray((total + _gram(waiting)) / n_draws)


def _gram(matrices: list[BoolArray]) -> FloatArray:
    together = np.concatenate(matrices, axis=1).astype(np.float64)
    return together @ together.T


def features_law(n_features: ArrayLike) -> dict[int, float]:
    """Return the share of draws that have each number of features.

    Examples
    --------
    >>> features_law([[2, 3], [3, 3]])
    {2: 0.25, 3: 0.75}
    """
    values, counts = np.unique(np.asarray(n_features), return_counts=True)
    return {int(k): float(count) / float(counts.sum()) for k, count in zip(values, counts, strict=True)}


def match_features(
    reference: ArrayLike, Z: ArrayLike, least_overlap: float = 0.5
) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
    """Pair the features of two matrices one to one so that their total overlap is largest.

    The overlap of two features is Jaccard's: the rows that have both over the rows that have either.

    Parameters
    ----------
    reference, Z : array-like of bool, shape (n_rows, n_features)
        The two matrices; their numbers of features may differ.
    least_overlap : float, optional
        Features that overlap less are different features and are never paired.

    Returns
    -------
    (ndarray, ndarray, ndarray)
        Columns of the reference, the columns of Z that are their partners, and their overlaps.

    Examples
    --------
    >>> first = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> second = np.array([[0, 1, 1], [0, 1, 0], [1, 0, 0], [1, 1, 0]])
    >>> match_features(first, second)
    (array([0, 1]), array([1, 0]), array([0.66666667, 1.        ]))
    """
    a = _check.binary_matrix("reference", reference)
    b = _check.binary_matrix("Z", Z)
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"Z has {b.shape[0]} rows, but the reference has {a.shape[0]}; they must match.")
    return _match(a.astype(np.float64), b.astype(np.float64), _check.number("least_overlap", least_overlap, high=1.0))


def _match(a: FloatArray, b: FloatArray, least: float) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
    from scipy.optimize import linear_sum_assignment

    both = a.T @ b
    either = a.sum(axis=0)[:, None] + b.sum(axis=0)[None, :] - both
    overlap = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    overlap[overlap < least] = 0.0
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    paired = overlap[rows, columns] > 0.0
    return rows[paired], columns[paired], overlap[rows, columns][paired]


@dataclass(frozen=True, eq=False)
class FeatureProbabilities:
    """How certain the features of one matrix are, over draws.

    Attributes
    ----------
    reference : ndarray of bool, shape (n_rows, n_features)
        The matrix whose features were looked for.
    probabilities : ndarray of float, shape (n_rows, n_features)
        Share of draws in which the row has the feature; a draw without the feature counts as one where no row has it.
    presence : ndarray of float, shape (n_features,)
        Share of draws that have the feature at all.
    overlap : ndarray of float, shape (n_features,)
        Mean Jaccard overlap of the feature with its partner, over the draws that have it; NaN where none has.
    """

    reference: BoolArray
    probabilities: FloatArray
    presence: FloatArray
    overlap: FloatArray


def feature_probabilities(
    reference: ArrayLike, draws: Iterable[BoolArray], least_overlap: float = 0.5
) -> FeatureProbabilities:
    """Look for the features of a matrix in draws (see `match_features`) and count.

    Examples
    --------
    >>> first = np.array([[True], [True], [False]])
    >>> found = feature_probabilities(first, [first, np.array([[True], [False], [False]]), np.zeros((3, 0), bool)])
    >>> found.probabilities.round(2).tolist(), found.presence.round(2), found.overlap
    ([[0.67], [0.33], [0.0]], array([0.67]), array([0.75]))
    """
    a = _check.binary_matrix("reference", reference)
    least = _check.number("least_overlap", least_overlap, high=1.0)
    columns, active = a.astype(np.float64), np.zeros(a.shape)
    present, overlap = np.zeros((2, a.shape[1]))
    n_draws = 0
    for Z in draws:
        b = Z.astype(np.float64)
        mine, theirs, overlaps = _match(columns, b, least)
        active[:, mine] += b[:, theirs]
        present[mine] += 1
        overlap[mine] += overlaps
        n_draws += 1
    if n_draws == 0:
        raise ValueError("draws must hold at least one matrix, got none.")
    mean_overlap = np.divide(overlap, present, out=np.full(a.shape[1], np.nan), where=present > 0)
    return FeatureProbabilities(a, active / n_draws, present / n_draws, mean_overlap)
