"""What the experiments on missing entries share: tables, patterns of holes, and one attempt to fill them.

To add a data set, write its line in ``TABLES``: a function of an index (a piece, a sequence, a seed) that returns the
table and the time or place of its rows. A pattern of holes is a line in ``PATTERNS``, a method one in
`ddibp.experiments.fillers.others`, a prior one in `ddibp.experiments.models`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp.experiments import fillers

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Table = tuple[FloatArray, FloatArray]

# -- tables ------------------------------------------------------------------------------------------------------------


def folder() -> Path:
    """Return the folder of the data that do not come with the package, or say what to do."""
    given = os.environ.get("DDIBP_DATA")
    if not given or not Path(given).is_dir():
        raise FileNotFoundError(
            "this experiment needs data that do not come with the package: set DDIBP_DATA to the folder that has them "
            "(origins and licences are in the README of ddibp.datasets)."
        )
    return Path(given)


def eeg(piece: int) -> Table:
    """Return a piece of 3 s of EEG: 96 times, 32 a second, of 32 channels."""
    from ddibp.datasets.table import find

    with np.load(find(folder(), "eeg_segments_32hz.npz"), allow_pickle=False) as saved:
        return _standardised(saved["data"][piece]), np.arange(saved["data"].shape[1]) / float(saved["sfreq"])


def mocap(sequence: int) -> Table:
    """Return the first 200 frames, ten a second, of a sequence of motion capture: twelve joints."""
    from ddibp.datasets import load_mocap

    data = load_mocap(folder())
    assert data.groups is not None
    assert data.covariates is not None
    rows = np.flatnonzero(data.groups == np.unique(data.groups)[sequence])[:200]
    return _standardised(data.X[rows]), data.covariates[rows] / 10.0


def jura(_: int) -> Table:
    """Return logs of seven metals at 259 + 100 places (km); the last 100 are the published hold-out."""
    from ddibp.datasets import load_jura

    data = load_jura(folder())
    assert data.labels is not None
    assert data.covariates is not None
    order = np.argsort(data.labels == "val", kind="stable")
    return _standardised(np.log(data.X[order])), data.covariates[order]


def income(_: int) -> Table:
    """Return log income per head of 48 states in every fifth year beside the mean of the year, and places (1000 km)."""
    from ddibp.datasets import load_us_income

    data = load_us_income(folder())
    assert data.covariates is not None
    logs = np.log(data.X[:, ::5])
    latitude, longitude = np.radians(data.covariates).T
    places = 6.371 * np.column_stack([np.cos(latitude.mean()) * longitude, latitude])
    return _standardised(logs - logs.mean(axis=0)), places


def elnino(_: int) -> Table:
    """Return monthly sea-surface temperatures of 61 years."""
    from ddibp.datasets import load_elnino

    data = load_elnino()
    assert data.covariates is not None
    return _standardised(data.X), data.covariates


def synthetic(kind: str) -> Callable[[int], Table]:
    """Return the maker of tables of 200 irregular times by 20 columns from five latent series and noise of sd 0.5.

    ``"binary"`` series switch on and off, at a rate of one in 1.25 units of time; ``"smooth"`` ones are Gaussian
    processes of length scale 1, for times from 0 to 10. Weights are standard normal. Tables are not standardised.
    """

    def make(seed: int) -> Table:
        rng = np.random.default_rng([seed, len(kind)])
        t = np.sort(rng.uniform(0.0, 10.0, 200))
        if kind == "binary":
            states = []
            for _ in range(5):
                switches = np.cumsum(rng.exponential(1.25, 60))
                states.append((np.searchsorted(switches, t) + rng.integers(2)) % 2)
            series = np.array(states, dtype=float).T
        else:
            law = np.exp(-0.5 * np.subtract.outer(t, t) ** 2) + 1e-8 * np.eye(200)
            series = np.linalg.cholesky(law) @ rng.standard_normal((200, 5))
        signal = series @ rng.standard_normal((5, 20))
        return signal + 0.5 * rng.standard_normal(signal.shape), t

    return make


TABLES: dict[str, Callable[[int], Table]] = {
    "EEG": eeg,
    "motion capture": mocap,
    "soil metals": jura,
    "state incomes": income,
    "sea temperature": elnino,
    "binary": synthetic("binary"),
    "smooth": synthetic("smooth"),
}


def _standardised(X: Any) -> FloatArray:
    X = np.asarray(X, dtype=float)
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


# -- patterns of holes -------------------------------------------------------------------------------------------------


def cells(X: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Hide two columns in each of ten rows (the paper's protocol)."""
    hidden = np.zeros(X.shape, dtype=bool)
    for row in rng.choice(len(X), 10, replace=False):
        hidden[row, rng.choice(X.shape[1], 2, replace=False)] = True
    return hidden


def share(part: float) -> Callable[[FloatArray, np.random.Generator], BoolArray]:
    """Hide this share of all entries."""

    def hide(X: FloatArray, rng: np.random.Generator) -> BoolArray:
        hidden = np.zeros(X.size, dtype=bool)
        hidden[rng.choice(X.size, round(part * X.size), replace=False)] = True
        return hidden.reshape(X.shape)

    return hide


def stretch(X: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Hide an eighth of the columns (one at least) for a third of the rows, each in a row somewhere else."""
    hidden, n = np.zeros(X.shape, dtype=bool), len(X) // 3
    for column in rng.choice(X.shape[1], max(1, X.shape[1] // 8), replace=False):
        start = rng.integers(0, len(X) - n)
        hidden[start : start + n, column] = True
    return hidden


def whole_rows(X: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Hide a tenth of the rows."""
    hidden = np.zeros(X.shape, dtype=bool)
    hidden[rng.choice(len(X), round(0.1 * len(X)), replace=False)] = True
    return hidden


def block(X: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Hide ten columns in ten rows in a row, as the synthetic set has beside scattered holes."""
    hidden, start = np.zeros(X.shape, dtype=bool), rng.integers(0, len(X) - 10)
    hidden[start : start + 10, rng.choice(X.shape[1], 10, replace=False)] = True
    return hidden


def held_out(columns: Sequence[int]) -> Callable[[FloatArray, np.random.Generator], BoolArray]:
    """Hide these columns in the last 100 rows: those that the soil data's publication holds out."""

    def hide(X: FloatArray, rng: np.random.Generator) -> BoolArray:  # noqa: ARG001
        hidden = np.zeros(X.shape, dtype=bool)
        hidden[-100:, columns] = True
        return hidden

    return hide


PATTERNS: dict[str, Callable[[FloatArray, np.random.Generator], BoolArray]] = {
    "10 rows x 2": cells,
    "10 % at random": share(0.1),
    "30 % at random": share(0.3),
    "a stretch of a channel": stretch,
    "whole rows": whole_rows,
    "cadmium held out": held_out([0]),
    "places held out": held_out(range(7)),
}

# -- methods -----------------------------------------------------------------------------------------------------------

LEARNED = {"dd-IBP": "ddibp", "IBP": "ibp", "dHBP": "dhbp", "dHBP, dish": "dhbp", "dIBP": "dibp", "AIBD": "aibd"}


def prior(name: str, beta: float | None, t: FloatArray) -> Any:
    """Return a prior at this beta, or with one that is learned; for rows in space, with symmetric distances."""
    from ddibp._defaults import learned_prior
    from ddibp.experiments import models

    in_time = t.ndim == 1
    if beta is not None:
        return models.prior(name, beta, t)
    given: dict[str, Any] = {"sequential": in_time} if name.startswith("d") and name != "dIBP" else {}
    given |= {"coupling": "dish"} if name.endswith("dish") else {}
    return learned_prior(LEARNED[name], t, given)


def attempt(
    table: str, index: int, pattern: str, method: str, beta: float | None, seed: int, tune: int, draws: int
) -> Mapping[str, Any]:
    """Hide entries of a table, fill them and score it; what is hidden depends on the seed alone.

    ``method`` is a prior, or one of `fillers.others`.
    """
    X, t = TABLES[table](index)
    hiding, rng = (np.random.default_rng([seed, which]) for which in range(2))
    if pattern == "20 % and a block":
        part = block(X, hiding)
        hidden = part | share(0.2)(X, hiding)
    else:
        hidden, part = PATTERNS[pattern](X, hiding), None
    others = fillers.others()
    way = others[method] if method in others else fillers.features(prior(method, beta, t), draws=draws, tune=tune)
    if way is None:
        return {"skipped": "not installed"}
    begin = time.process_time()
    try:
        with fillers.quiet():
            filled = fillers.fill(way, np.where(hidden, np.nan, X), t, rng)
    except fillers.NotInTimeError as reason:
        return {"skipped": str(reason)}
    seconds = time.process_time() - begin
    unit = np.ones(X.shape[1])
    result: dict[str, Any] = {**fillers.score(filled, X, hidden, unit), "seconds": round(seconds, 3)}
    if part is not None:
        result["squared error, block"] = fillers.score(filled, X, part, unit)["squared error"]
    return result
