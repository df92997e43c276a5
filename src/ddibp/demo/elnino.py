"""The main job: a table of 61 years by 12 months with holes, filled by the dd-IBP and by others.

The model is that of ``ddibp fit --sequential`` with all its defaults: columns are standardised, everything else is
learned. Nothing was chosen by looking at the hidden entries.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp import datasets
from ddibp.demo import baselines
from ddibp.hyperpriors import Gamma
from ddibp.likelihoods import LinearGaussian
from ddibp.priors import DDIBP, IBP
from ddibp.proximity import Exponential
from ddibp.sampling import Posterior, sample_posterior

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

SEED = 0
SCATTERED, STRETCH = 0.1, 9
DRAWS, TUNE, CHAINS = 300, 200, 4
PROBABILITY = 0.9
SPACING, MEDIAN_DISTANCE = 1.0, 18.0  # years
DDIBP_PRIOR = DDIBP(Exponential(Gamma(1.0, float(f"{(SPACING * MEDIAN_DISTANCE) ** 0.5:.3g}"))), sequential=True)


def hide(shape: tuple[int, int], seed: int = SEED) -> BoolArray:
    """Return which entries to hide: a tenth of them, scattered, and nine months in a row."""
    rng = np.random.default_rng(seed)
    hidden = np.zeros(shape[0] * shape[1], dtype=bool)
    hidden[rng.choice(hidden.size, int(SCATTERED * hidden.size), replace=False)] = True
    start = rng.integers(0, hidden.size - STRETCH)
    hidden[start : start + STRETCH] = True
    return hidden.reshape(shape)


def run_elnino(out: Path, *, draws: int = DRAWS, tune: int = TUNE, chains: int = CHAINS) -> Iterator[str]:
    """Fill the holes, write table, report and picture to ``out``, and yield what there is to say."""
    data = datasets.load_elnino()
    hidden = hide(data.X.shape)
    X = np.where(hidden, np.nan, data.X)
    center, scale = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    out.mkdir(parents=True, exist_ok=True)
    holes = _write(out / "elnino_holes.csv", data, X)
    yield f"Sea-surface temperature, 61 years x 12 months; {int(hidden.sum())} of {hidden.size} entries hidden."
    yield "Fitting (the first time, code is compiled, which takes about a minute) ..."
    common: dict[str, Any] = {"draws": draws, "tune": tune, "chains": chains, "n_jobs": min(chains, 2), "seed": SEED}
    fits = {
        "dd-IBP": sample_posterior(DDIBP_PRIOR, LinearGaussian(), (X - center) / scale, data.covariates, **common),
        "IBP": sample_posterior(IBP(), LinearGaussian(), (X - center) / scale, **common),
    }
    yield ""
    yield from _comparison(data.X, X, center, scale, fits)
    yield ""
    best = fits["dd-IBP"]
    yield f"table with holes      {holes}"
    yield f"table completed       {_write(out / 'elnino_completed.csv', data, best.completed() * scale + center)}"
    yield f"hidden, and predicted {_draw(data.X, best, center, scale, out / 'elnino_hidden.png')}"
    yield f"report                {_report(data, best, center, scale, out / 'elnino_report.html')}"
    yield f"The same by hand: ddibp fit {holes} --covariate YEAR --sequential --out run"
    yield ""
    yield "Beside this, draws of the prior with each of four decays, and how much rows share on average:"


def _comparison(
    truth: FloatArray, X: FloatArray, center: FloatArray, scale: FloatArray, fits: dict[str, Posterior]
) -> Iterator[str]:
    hidden = np.isnan(X)
    S = (X - center) / scale
    by_rank, rank = baselines.tuned(baselines.pca, S, range(1, 7))
    by_rows, k = baselines.tuned(baselines.neighbours, S, range(1, 16))
    filled = {name: posterior.completed() for name, posterior in fits.items()}
    filled |= {
        f"{k} nearest neighbours": by_rows,
        f"PCA of rank {rank}": by_rank,
        "column means": baselines.column_means(S),
    }
    yield f"{'':24}{'RMSE':>9}   {PROBABILITY:.0%} intervals"
    for name, completed in filled.items():
        rmse = float(np.sqrt(np.square((completed * scale + center - truth)[hidden]).mean()))
        line = f"{name:24}{rmse:6.3f} °C"
        if name in fits:
            low, high = fits[name].imputation_interval(PROBABILITY)
            wanted = ((truth - center) / scale)[hidden]
            line += f"   hold {np.mean((low <= wanted) & (wanted <= high)):.0%} of the hidden entries"
        yield line
    yield "One pattern of holes says little: docs/command_line.md has averages over six."


def _write(path: Path, data: datasets.Dataset, X: FloatArray) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*data.covariate_names, *data.column_names])
        for year, row in zip(data.row_names, X, strict=True):
            writer.writerow([year, *("" if np.isnan(x) else f"{x:.2f}" for x in row)])
    return path


def _draw(truth: FloatArray, posterior: Posterior, center: FloatArray, scale: FloatArray, path: Path) -> Path:
    from matplotlib.figure import Figure

    from ddibp import plots

    found = posterior.imputations(PROBABILITY)
    m, s = center[found.columns], scale[found.columns]
    figure = Figure(figsize=(6.0, 5.5), layout="constrained", dpi=150)
    ax = plots.held_out(
        truth[found.rows, found.columns],
        found.mean * s + m,
        low=found.low * s + m,
        high=found.high * s + m,
        probability=PROBABILITY,
        ax=figure.add_subplot(),
    )
    ax.set(xlabel="hidden temperature (°C)", ylabel="predicted temperature (°C)")
    figure.savefig(path)
    return path


def _report(data: datasets.Dataset, posterior: Posterior, center: FloatArray, scale: FloatArray, path: Path) -> Path:
    from ddibp.report import write_report

    return write_report(
        posterior,
        path,
        title="Sea-surface temperature",
        column_names=data.column_names,
        row_names=data.row_names,
        covariate_names=data.covariate_names,
        center=center,
        scale=scale,
    )
