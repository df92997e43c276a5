r"""Logistic regression on many splits at once, and the errors of what it yields.

With an L2 penalty on the weights (not on the intercept) the fit depends on the inputs only through their inner
products, so that it is made in as many coordinates as there are rows for training, by Newton's method on all splits
together; it is the optimum that scikit-learn's ``LogisticRegression(C=...)`` looks for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_MOST_STEPS = 100
_MOST_OFF = 2  # rows of a class by which a side may miss one half, where people stay together


def random_halves(labels: BoolArray, n_splits: int, rng: np.random.Generator) -> BoolArray:
    """Return splits, of shape (n_splits, n_rows): True for training, half of each class (odd rows fall at random).

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([True, True, False, False, False, False])
    >>> splits = random_halves(labels, 3, np.random.default_rng(0))
    >>> splits[:, labels].sum(axis=1), splits[:, ~labels].sum(axis=1)
    (array([1, 1, 1]), array([2, 2, 2]))
    """
    splits = np.zeros((n_splits, len(labels)), dtype=bool)
    for split in splits:
        for label in (False, True):
            rows = rng.permutation(np.flatnonzero(labels == label))
            split[rows[: (len(rows) + int(rng.integers(2))) // 2]] = True
    return splits


def halves_of_people(
    labels: BoolArray, people: NDArray[np.int64], n_splits: int, rng: np.random.Generator
) -> BoolArray:
    """Return splits that keep all rows of a person on one side, each class halved but for at most two rows.

    Examples
    --------
    >>> import numpy as np
    >>> labels, people = np.repeat([True, False], 6), np.repeat(np.arange(6), 2)
    >>> splits = halves_of_people(labels, people, 20, np.random.default_rng(0))
    >>> bool((splits[:, ::2] == splits[:, 1::2]).all()), sorted(set(splits[:, labels].sum(axis=1).tolist()))
    (True, [2, 4])
    """
    splits = np.zeros((n_splits, len(labels)), dtype=bool)
    for split in splits:
        for label in (False, True):
            rows = np.flatnonzero(labels == label)
            names, whose = np.unique(people[rows], return_inverse=True)
            while True:
                train = (rng.random(len(names)) < 0.5)[whose]
                if abs(2 * int(train.sum()) - len(rows)) <= 2 * _MOST_OFF:
                    break
            split[rows[train]] = True
    return splits


def scores(gram: FloatArray, labels: BoolArray, splits: BoolArray, C: float) -> FloatArray:
    """Return the linear predictors of all rows, of shape (n_splits, n_rows), fitted to each split's training rows.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
        Inner products of the rows' inputs, or a kernel.
    labels : ndarray of bool, shape (n_rows,)
    splits : ndarray of bool, shape (n_splits, n_rows)
        True for training.
    C : float
        What the sum of losses is multiplied by, beside half the squared norm of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> scores(np.outer(x, x), x > 1.5, np.ones((1, 4), dtype=bool), 1.0).round(3)
    array([[-1.437, -0.479,  0.479,  1.437]])
    """
    m = int(splits.sum(axis=1).max())
    rows = np.array([np.resize(np.flatnonzero(split), m) for split in splits])  # repeated rows have no weight
    weight = (np.arange(m) < splits.sum(axis=1)[:, None]).astype(float)
    values, vectors = np.linalg.eigh(gram[rows[:, :, None], rows[:, None, :]])
    kept = values > 1e-10 * values[:, -1:]
    root = np.where(kept, np.sqrt(np.where(kept, values, 1.0)), np.inf)
    inputs = gram[:, rows].transpose(1, 0, 2) @ (vectors / root[:, None, :])
    inputs = np.concatenate([inputs, np.ones((*inputs.shape[:2], 1))], axis=2)
    train = np.take_along_axis(inputs, rows[:, :, None], axis=1)
    y = labels[rows].astype(float)
    penalty = np.r_[np.full(m, 1.0 / C), 0.0]

    def objective(w: FloatArray) -> FloatArray:
        eta = np.einsum("snk,sk->sn", train, w)
        losses = weight * (np.logaddexp(0.0, eta) - y * eta)
        return losses.sum(axis=1) + 0.5 * (penalty * w**2).sum(axis=1)

    w = np.zeros((len(splits), m + 1))
    now = objective(w)
    for _ in range(_MOST_STEPS):
        p = 0.5 * (1.0 + np.tanh(0.5 * np.einsum("snk,sk->sn", train, w)))
        slope = np.einsum("sn,snk->sk", weight * (p - y), train) + penalty * w
        bend = np.einsum("sn,snk,snl->skl", weight * p * (1.0 - p), train, train, optimize=True)
        step = np.linalg.solve(bend + np.diag(penalty + 1e-12), slope[:, :, None])[:, :, 0]
        size = np.ones(len(splits))
        for _half in range(30):
            after = objective(w - size[:, None] * step)
            worse = after > now
            if not worse.any():
                break
            size[worse] *= 0.5
        better = after < now
        w = np.where(better[:, None], w - size[:, None] * step, w)
        gain, now = now - np.minimum(after, now), np.minimum(after, now)
        if (gain <= 1e-10 * (1e-6 + np.abs(now))).all():
            break
    return np.einsum("snk,sk->sn", inputs, w)


def auc(scores: FloatArray, labels: BoolArray) -> float:
    """Return the share of pairs of a positive and a negative in the right order, ties counted half.

    Examples
    --------
    >>> import numpy as np
    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    gaps = scores[labels][:, None] - scores[~labels][None, :]
    return float(np.mean((gaps > 0.0) + 0.5 * (gaps == 0.0)))


def aucs(gram: FloatArray, labels: BoolArray, splits: BoolArray, C: float) -> FloatArray:
    """Return the AUC on the rows that are not for training, split by split."""
    fitted = scores(gram, labels, splits, C)
    return np.array([auc(f[~split], labels[~split]) for f, split in zip(fitted, splits, strict=True)])


def mean_with_error(values: FloatArray) -> tuple[float, float]:
    """Return the mean of a table of restarts by splits and its standard error, for both being drawn at random.

    The squared error is the variance of the means of restarts over their number, plus that of the means of splits over
    theirs. It says how well the average over restarts and splits is known *for these rows*, not how it would differ
    for other people.

    Examples
    --------
    >>> import numpy as np
    >>> mean_with_error(np.array([[0.6, 0.8], [0.6, 0.8]]))
    (0.7, 0.1)
    """
    return float(values.mean()), round(_squared_error(values) ** 0.5, 12)


def difference_with_error(first: FloatArray, second: FloatArray) -> tuple[float, float]:
    """Return the mean difference of two tables on the same splits and its standard error; restarts are not paired."""
    paired = first.mean(axis=0) - second.mean(axis=0)
    squared = np.var(paired, ddof=1) / paired.size + _of_restarts([first, second])
    return float(paired.mean()), float(squared**0.5)


def _squared_error(values: FloatArray) -> float:
    return float(np.var(values.mean(axis=0), ddof=1) / values.shape[1]) + _of_restarts([values])


def _of_restarts(tables: Sequence[FloatArray]) -> float:
    return float(sum(np.var(t.mean(axis=1), ddof=1) / len(t) for t in tables if len(t) > 1))
