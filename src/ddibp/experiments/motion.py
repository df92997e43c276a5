"""What someone is doing, from features of twelve joints: one attempt at the labels of the motion-capture sequences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp.experiments import fillers, holes

FloatArray = NDArray[np.float64]

EVERY, BLOCK, FOLDS, SPLITS = 5, 6, 5, 10  # frames; rows (3 s) that stay together; folds; random splits
PRIORS = ("dd-IBP", "IBP", "dHBP")
OTHERS = ("joints", "joints, mean of 2.5 s", "PCA", "PCA, mean of 2.5 s")


def sequences() -> tuple[FloatArray, FloatArray, NDArray[Any], NDArray[Any]]:
    """Return two frames a second of six sequences: twelve joints, seconds, the sequence, the action."""
    from ddibp.datasets import load_mocap

    data = load_mocap(holes.folder())
    assert data.covariates is not None
    assert data.groups is not None
    assert data.labels is not None
    rows = np.flatnonzero(data.covariates.astype(int) % EVERY == 0)
    X = data.X[rows]
    return (X - X.mean(axis=0)) / X.std(axis=0), data.covariates[rows] / 10.0, data.groups[rows], data.labels[rows]


def recognise(method: str, seed: int, tune: int, draws: int, splits: int) -> Mapping[str, Any]:
    """Return the balanced accuracy of logistic regression on features that a method finds without the labels."""
    X, t, groups, actions = sequences()
    with fillers.quiet():
        if method in PRIORS:
            tables = _features(method, X, t, groups, seed, tune, draws)
        else:
            values = _smooth(X, groups) if "mean" in method else X
            tables = {"": _pca(values, 8) if method.startswith("PCA") else values}
        result: dict[str, Any] = {"dimension": next(iter(tables.values())).shape[1]}
        for name, F in tables.items():
            result["accuracy" + name] = _accuracy(F, groups, actions, splits)
    return result


def _features(
    method: str, X: FloatArray, t: FloatArray, groups: NDArray[Any], seed: int, tune: int, draws: int
) -> dict[str, FloatArray]:
    """Return Z of the MAP, and the mean of ZW: what the rows are without noise."""
    from ddibp import LinearGaussian, sample_posterior
    from ddibp._defaults import learned_prior

    given = {} if method == "IBP" else {"sequential": True}
    prior = learned_prior(holes.LEARNED[method], t, given, groups) if given else learned_prior("ibp", None, {})
    covariates: dict[str, Any] = {"covariates": t, "groups": groups} if prior.takes_covariates else {}
    posterior = sample_posterior(
        prior, LinearGaussian(), X, **covariates, draws=draws, tune=tune, chains=1, n_jobs=1, seed=seed, progress=False
    )
    return {"": posterior.map().Z.astype(float), ", E[ZW]": posterior.reconstruction().mean}


def _smooth(X: FloatArray, groups: NDArray[Any]) -> FloatArray:
    """Return means of five rows around every row, within its sequence."""
    result = np.empty_like(X)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        for place, row in enumerate(rows):
            result[row] = X[rows[max(0, place - 2) : place + 3]].mean(axis=0)
    return result


def _pca(X: FloatArray, rank: int) -> FloatArray:
    from sklearn.decomposition import PCA

    return np.asarray(PCA(rank).fit_transform(X))


def _accuracy(F: FloatArray, groups: NDArray[Any], actions: NDArray[Any], splits: int) -> float:
    """Return the mean over random splits of the balanced accuracy on blocks of rows that were held out."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import StratifiedGroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    inside = np.concatenate([np.arange((groups == group).sum()) // BLOCK for group in dict.fromkeys(groups.tolist())])
    blocks = np.unique([f"{group} {block}" for group, block in zip(groups, inside, strict=True)], return_inverse=True)[
        1
    ]
    scores = []
    for split in range(splits):
        guessed = np.empty(len(actions), dtype=actions.dtype)
        folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=split)
        for train, test in folds.split(F, actions, blocks):
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
            guessed[test] = model.fit(F[train], actions[train]).predict(F[test])
        scores.append(balanced_accuracy_score(actions, guessed))
    return float(np.mean(scores))
