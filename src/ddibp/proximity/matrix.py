r"""The proximity: row-normalised decays :math:`a_{ij} = f(d_{ij})/h_i` and their normalisers :math:`h_i`."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ddibp import _check
from ddibp.proximity import metrics, neighbours
from ddibp.proximity.decays import Decay, as_decay
from ddibp.proximity.metrics import FloatArray
from ddibp.proximity.neighbours import Pattern

_SAFE_LOG = -690.0  # exp of anything below loses digits (denormal) or vanishes


class CompressedRows(NamedTuple):
    """What compiled code reads of a proximity; ``log_weights`` is empty unless ``weights`` has lost digits."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: FloatArray
    log_weights: FloatArray
    normalisers: FloatArray


@dataclass(frozen=True, eq=False)
class Proximity:
    r"""Who may link to whom: :math:`a_{ij} = f(d_{ij})/h_i`, :math:`h_i = \sum_j f(d_{ij})`, the row itself included.

    Make one with `from_covariates` or `from_distances`; wherever a prior takes covariates it also takes a proximity,
    which saves building it again.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array
        The weights :math:`a_{ij}`; every row sums to 1, and the diagonal is always stored.
    normalisers : ndarray of shape (n_rows,)
        :math:`h_i`.
    sequential : bool
        Whether no row links to a later one; columns are then autoregressive sequences.

    Examples
    --------
    >>> from ddibp import Proximity, Window
    >>> proximity = Proximity.from_covariates([0.0, 1.0, 5.0], Window(2.0))
    >>> proximity.matrix.toarray()
    array([[0.5, 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    >>> proximity.normalisers
    array([2., 2., 1.])
    """

    rows: CompressedRows = field(repr=False)
    sequential: bool

    @classmethod
    def from_covariates(
        cls,
        covariates: Any,
        decay: Any,
        *,
        sequential: bool = False,
        metric: Any = "euclidean",
        cutoff: float = 0.0,
        groups: Any = None,
    ) -> Self:
        """Build a proximity from a time, a place, an age, ... per row.

        With a finite reach (a `Window`, or any decay with a ``cutoff``) only pairs within reach are ever looked at: by
        sorted search for one column, by a KD-tree for several.

        Parameters
        ----------
        covariates : array-like of shape (n_rows,) or (n_rows, n_columns)
            Finite numbers. With ``metric="precomputed"``: a matrix of distances, see `from_distances`.
        decay : Decay or callable
            From distances to [0, 1].
        sequential : bool
            Rows may link to earlier rows only (and to themselves). *The row order is the order of time*: a single
            covariate must be sorted, and rows with equal covariates count in the order in which they stand.
        metric : str or callable
            A metric of `scipy.spatial.distance`, or ``"haversine"``: columns are latitude and longitude in degrees,
            distances are kilometres.
        cutoff : float
            Decays at or below this count as 0.
        groups : array-like of shape (n_rows,), optional
            Labels; rows of different groups (recording sessions, say) are infinitely far apart.
        """
        if isinstance(metric, str) and metric == "precomputed":
            return cls.from_distances(covariates, decay, sequential=sequential, cutoff=cutoff, groups=groups)
        decay = as_decay(decay)
        cutoff = _check.number("cutoff", cutoff, low=0.0)
        _require_cutoff_below(decay, cutoff)
        points = metrics.as_points(covariates)
        codes = metrics.as_groups(groups, len(points))
        if sequential and points.shape[1] == 1:
            _require_sorted(points[:, 0], codes)
        pattern = neighbours.find(metrics.embed(points, metric), codes, decay.reach(cutoff), sequential)
        return cls._from_pattern(pattern, decay, cutoff)

    @classmethod
    def from_distances(
        cls, distances: Any, decay: Any, *, sequential: bool = False, cutoff: float = 0.0, groups: Any = None
    ) -> Self:
        """Build a proximity from a matrix of distances.

        Parameters
        ----------
        distances : array-like or sparse array of shape (n_rows, n_rows)
            :math:`d_{ij}` is the distance of a link from row i to row j; it may be asymmetric, and infinite where j is
            out of reach. The diagonal must be 0. In a sparse array, what is not stored is infinite (out of reach), a
            stored 0 is a distance of 0, and the diagonal need not be stored.
        decay, sequential, cutoff, groups
            As in `from_covariates`; with ``sequential=True`` distances to later rows are taken as infinite.

        Examples
        --------
        >>> import numpy as np
        >>> from ddibp import Exponential
        >>> D = np.array([[0.0, np.inf], [np.log(3.0), 0.0]])
        >>> Proximity.from_distances(D, Exponential(1.0)).matrix.toarray()
        array([[1.  , 0.  ],
               [0.25, 0.75]])
        """
        decay = as_decay(decay)
        cutoff = _check.number("cutoff", cutoff, low=0.0)
        _require_cutoff_below(decay, cutoff)
        pattern = _pattern_of_matrix(distances, sequential)
        codes = metrics.as_groups(groups, len(pattern.indptr) - 1)
        if codes is not None:
            row = np.repeat(np.arange(codes.size), np.diff(pattern.indptr))
            pattern = _select(pattern, codes[row] == codes[pattern.indices])
        return cls._from_pattern(pattern, decay, cutoff)

    @classmethod
    def _from_pattern(cls, pattern: Pattern, decay: Any, cutoff: float) -> Self:
        from ddibp.proximity import _kernels

        indptr, indices, distances = pattern
        log_f = decay.log(distances)
        del pattern, distances
        with np.errstate(divide="ignore"):
            kept = _kernels.keep_above(indptr, indices, log_f, float(np.log(cutoff)))
        if kept < indices.size:
            indices, log_f = indices[:kept].copy(), log_f[:kept].copy()
        weights, h = np.empty(kept), np.empty(indptr.size - 1)
        smallest, lower = _kernels.normalise_rows(indptr, indices, log_f, weights, h)
        log_weights = log_f if smallest < _SAFE_LOG else np.empty(0)
        rows = CompressedRows(indptr, indices, weights, log_weights, h)
        for array in rows:
            array.flags.writeable = False
        return cls(rows, bool(lower))

    @functools.cached_property
    def matrix(self) -> Any:
        """The weights :math:`a_{ij}` as a `scipy.sparse.csr_array`."""
        from scipy.sparse import csr_array

        return csr_array((self.rows.weights, self.rows.indices, self.rows.indptr), shape=(self.n_rows, self.n_rows))

    @property
    def normalisers(self) -> FloatArray:
        """The normalisers :math:`h_i`."""
        return self.rows.normalisers

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return len(self.rows.normalisers)

    @property
    def n_pairs(self) -> int:
        """Number of stored pairs, the diagonal included."""
        return len(self.rows.indices)

    @functools.cached_property
    def symmetric(self) -> bool:
        """Whether the decays :math:`f(d_{ij})` are symmetric, to rounding; owners are then uniform given a column."""
        rows = self.rows
        logs = rows.log_weights if rows.log_weights.size else np.log(rows.weights)
        decays = self.matrix.copy()
        decays.data = logs + np.repeat(np.log(rows.normalisers), np.diff(rows.indptr))
        turned = decays.tocsc()
        same = np.array_equal(turned.indptr, rows.indptr) and np.array_equal(turned.indices, rows.indices)
        return same and bool(np.allclose(turned.data, decays.data, rtol=0.0, atol=1e-9))

    @functools.cached_property
    def followers(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Compressed rows of the transposed pattern: the rows that may link to each row."""
        from ddibp.proximity import _kernels

        indptr, indices = _kernels.transpose_pattern(self.rows.indptr, self.rows.indices)
        return indptr, indices

    def __repr__(self) -> str:
        kind = "sequential" if self.sequential else "not sequential"
        return f"Proximity(n_rows={self.n_rows}, n_pairs={self.n_pairs}, {kind})"


def as_proximity(
    covariates: Any, decay: Any, *, sequential: bool, metric: Any, cutoff: float, groups: Any = None
) -> Proximity:
    """Return a ready-made proximity itself, or build one from covariates."""
    if isinstance(covariates, Proximity):
        if groups is not None:
            raise ValueError("groups must be given when the proximity is built, not beside a ready-made Proximity.")
        return covariates
    return Proximity.from_covariates(
        covariates, decay, sequential=sequential, metric=metric, cutoff=cutoff, groups=groups
    )


def _require_cutoff_below(decay: Decay, cutoff: float) -> None:
    if cutoff >= decay(0.0):
        raise ValueError(
            f"cutoff must be below the decay at distance 0, which is {decay(0.0):g}, or no row could link to another; "
            f"got {cutoff:g}."
        )


def _require_sorted(position: FloatArray, groups: NDArray[np.int64] | None) -> None:
    later = np.arange(position.size) if groups is None else np.argsort(groups, kind="stable")
    falls = np.diff(position[later]) < 0
    if groups is not None:
        falls &= np.diff(groups[later]) == 0
    if falls.any():
        i, j = (int(later[int(np.argmax(falls)) + k]) for k in (0, 1))
        raise ValueError(
            "sequential=True needs rows in the order of their covariate, because the row order is the order of time "
            f"(a row links to earlier rows only), but row {j} has {position[j]:g} after row {i} with {position[i]:g}. "
            "Sort the rows first: order = numpy.argsort(t, kind='stable'); t, X = t[order], X[order]."
        )


def _pattern_of_matrix(distances: Any, sequential: bool) -> Pattern:
    """Return the finite distances of a matrix as a pattern with the diagonal stored."""
    if hasattr(distances, "tocoo"):
        return _pattern_of_sparse(distances, sequential)
    try:
        D = np.asarray(distances, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError("distances must be a matrix of numbers.") from None
    _require_square(D.shape)
    _require_distances(D.ravel())
    diagonal = np.diagonal(D)
    _require_zero_diagonal(diagonal)
    finite = np.isfinite(D)
    if sequential:
        finite &= np.tri(len(D), dtype=bool)
    indptr = np.concatenate([[0], np.cumsum(finite.sum(axis=1))])
    return Pattern(indptr, np.nonzero(finite)[1].astype(np.int32), D[finite])


def _pattern_of_sparse(distances: Any, sequential: bool) -> Pattern:
    coo = distances.tocoo()
    _require_square(coo.shape)
    n = coo.shape[0]
    row, col, d = coo.row.astype(np.int64), coo.col.astype(np.int64), coo.data.astype(np.float64)
    _require_distances(d)
    off = row != col
    _require_zero_diagonal(d[~off])
    keep = off & np.isfinite(d)
    if sequential:
        keep &= col < row
    row = np.concatenate([row[keep], np.arange(n)])
    col = np.concatenate([col[keep], np.arange(n)])
    d = np.concatenate([d[keep], np.zeros(n)])
    order = np.lexsort((col, row))
    row, col, d = row[order], col[order], d[order]
    if (np.diff(row * n + col) == 0).any():
        raise ValueError("distances must not hold an entry twice; call sum_duplicates() on the sparse array.")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
    return Pattern(indptr, col.astype(np.int32), d)


def _require_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"distances must be a square matrix, rows by rows, got shape {shape}.")
    if shape[0] == 0:
        raise ValueError("distances must have at least one row.")


def _require_distances(d: FloatArray) -> None:
    if np.isnan(d).any():
        raise ValueError("distances must not be NaN; use numpy.inf where a row is out of reach.")
    if (d < 0).any():
        raise ValueError(f"distances must not be negative, got {d[d < 0][0]:g}.")


def _require_zero_diagonal(diagonal: FloatArray) -> None:
    if diagonal.any():
        i = int(np.argmax(diagonal != 0))
        raise ValueError(
            f"distances must have a zero diagonal (a row is at distance 0 of itself), got {diagonal[i]:g}."
        )


def _select(pattern: Pattern, keep: NDArray[np.bool_]) -> Pattern:
    row = np.repeat(np.arange(len(pattern.indptr) - 1), np.diff(pattern.indptr))
    counts = np.bincount(row[keep], minlength=len(pattern.indptr) - 1)
    return Pattern(np.concatenate([[0], np.cumsum(counts)]), pattern.indices[keep], pattern.distances[keep])
