"""The numbers behind the interactive view, packed to stay small; what has to be left out is said in words."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ddibp import summaries
from ddibp.plots.activations import Bands, bands
from ddibp.report.labels import Labels, brief, figure
from ddibp.report.model import specification

if TYPE_CHECKING:
    from ddibp.sampling import Posterior

FloatArray = NDArray[np.float64]

_MOST_ROWS = 4000
_MOST_FEATURES = 200
_MOST_PROBABILITIES = 150_000  # times three, in bytes
_MOST_CELLS = 60_000  # of data, times three, in single precision
_MOST_IMPUTED = 4000
_MOST_WEIGHTS = 2500
_MOST_COVARIATES = 6
_STRONGEST = 8


@dataclass(frozen=True, eq=False)
class Findings:
    """What was found, in the units of the page."""

    bands: Bands
    reconstruction: summaries.FloatArray
    sd: FloatArray
    observed: FloatArray
    weights: FloatArray
    weights_sd: FloatArray | None

    @classmethod
    def of(cls, posterior: Posterior, labels: Labels) -> Findings:
        """Compute them."""
        mean, sd = posterior.reconstruction()
        W, W_sd = _weights(posterior)
        return cls(
            bands(posterior),
            labels.center + labels.scale * mean,
            labels.scale * sd,
            labels.center + labels.scale * posterior.observed,
            labels.scale * W,
            None if W_sd is None else labels.scale * W_sd,
        )


def _weights(posterior: Posterior) -> tuple[FloatArray, FloatArray | None]:
    """Return mean and sd of the weights given the features of the best draw; where unknown, the drawn weights."""
    best = posterior.map()
    likelihood = specification(posterior, "likelihood")
    if not hasattr(likelihood, "weights"):
        return best.W, None
    fixed = {name: best.scalars[name] for name in likelihood.get_params(deep=False) if name in best.scalars}
    found = likelihood.set_params(**fixed).weights(posterior.observed, best.Z)
    return found.mean, np.sqrt(np.diagonal(found.covariance, axis1=1, axis2=2).T)


def feature_table(findings: Findings, labels: Labels) -> list[dict[str, Any]]:
    """Return one line per feature, those with most rows first."""
    found = findings.bands
    lines = []
    for k in np.argsort(-found.reference.sum(axis=0), kind="stable"):
        rows = np.flatnonzero(found.reference[:, k])
        span = "–"
        if len(rows) and labels.covariates:
            t = labels.covariates[0][1][rows]
            span = f"{figure(t.min(), 5)} to {figure(t.max(), 5)}"
        strongest = np.argsort(-np.abs(findings.weights[k]), kind="stable")[:3]
        lines.append(
            {
                "id": int(k),
                "size": len(rows),
                "expected": figure(found.probabilities[:, k].sum()),
                "presence": f"{100 * found.presence[k]:.0f} %",
                "overlap": figure(found.overlap[k], 2),
                "span": span,
                "strongest": [f"{labels.columns[m]} {_signed(findings.weights[k, m])}" for m in strongest],
            }
        )
    return lines


def _signed(x: float) -> str:
    return figure(x, 2) if x < 0 else f"+{figure(x, 2)}"


def weight_table(findings: Findings, labels: Labels) -> dict[str, Any]:
    """Return weights to be shown as a table: all, or the columns with the largest ones."""
    W, sd = findings.weights, findings.weights_sd
    K, M = W.shape
    kept = min(M, max(_MOST_WEIGHTS // max(K, 1), 4))
    columns = np.sort(np.argsort(-np.abs(W).max(axis=0, initial=0.0), kind="stable")[:kept])
    # Each column has its own unit, so each is coloured by its own largest weight.
    largest = np.maximum(np.abs(W).max(axis=0, initial=0.0), np.finfo(float).tiny)
    decimals = np.clip(2 - np.floor(np.log10(largest)), 0, 8).astype(int)
    cells = [
        [
            {
                "text": f"{W[k, m]:+.{decimals[m]}f}".replace("-", "−"),
                "sign": "negative" if W[k, m] < 0 else "positive",
                "strength": f"{100 * abs(W[k, m]) / largest[m]:.0f}",
                "sd": None if sd is None else figure(sd[k, m], 2),
            }
            for m in columns
        ]
        for k in range(K)
    ]
    return {"columns": [labels.columns[m] for m in columns], "cells": cells, "left_out": M - kept}


def _chosen(n: int, most: int) -> NDArray[np.intp]:
    """Return evenly spaced places, all of them if they are few enough."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp)) if n else np.zeros(0, np.intp)


def pack(array: NDArray[Any]) -> str:
    """Return the bytes of an array as text."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def view(posterior: Posterior, findings: Findings, labels: Labels) -> tuple[dict[str, Any], list[str]]:
    """Return the data of the interactive view, and sentences about what was left out."""
    found = findings.bands
    n, K = found.reference.shape
    M = findings.observed.shape[1]
    notes = []
    features = np.sort(np.argsort(-found.probabilities.sum(axis=0), kind="stable")[:_MOST_FEATURES])
    if len(features) < K:
        notes.append(f"The view shows the {len(features)} features with most rows, of {K:,}.")
    first = np.argsort(labels.covariates[0][1], kind="stable") if labels.covariates else np.arange(n)
    rows = np.sort(first[_chosen(n, min(_MOST_ROWS, _MOST_PROBABILITIES // max(len(features), 1)))])
    if len(rows) < n:
        notes.append(f"The view shows {len(rows):,} of {n:,} rows, evenly spaced, to keep this page small.")
    columns = np.arange(min(M, max(_MOST_CELLS // max(len(rows), 1), 1)))
    if len(columns) < M:
        notes.append(f"The view has data of the first {len(columns):,} of {M:,} columns.")
    block = np.ix_(rows, features)
    cells = np.ix_(rows, columns)

    def bytes_of(P: FloatArray) -> str:
        return pack(np.round(255.0 * P[block].T).astype(np.uint8))

    def singles_of(X: FloatArray) -> str:
        return pack(X[cells].T.astype("<f4"))

    data = {
        "rows": [int(i) for i in rows],
        "names": None if labels.rows is None else [labels.rows[i] for i in rows],
        "covariates": [{"name": name, "values": brief(t[rows], 9)} for name, t in labels.covariates[:_MOST_COVARIATES]],
        "groups": _groups(posterior, rows),
        "chains": posterior.n_chains,
        "probabilities": bytes_of(found.probabilities),
        "low": bytes_of(found.low),
        "high": bytes_of(found.high),
        "reference": bytes_of(found.reference.astype(np.float64)),
        "features": [_feature(findings, labels, int(k)) for k in features],
        "columns": [labels.columns[m] for m in columns],
        "observed": singles_of(findings.observed),
        "mean": singles_of(findings.reconstruction),
        "sd": singles_of(findings.sd),
    }
    return data, notes


def _groups(posterior: Posterior, rows: NDArray[np.intp]) -> dict[str, Any] | None:
    given = posterior.context.get("groups")
    if given is None:
        return None
    names, places = np.unique(given[rows], return_inverse=True)
    return {"names": [str(name) for name in names], "of": places.tolist()}


def _feature(findings: Findings, labels: Labels, k: int) -> dict[str, Any]:
    found = findings.bands
    strongest = np.argsort(-np.abs(findings.weights[k]), kind="stable")[:_STRONGEST]
    sd = findings.weights_sd
    return {
        "id": k,
        "size": int(found.reference[:, k].sum()),
        "expected": brief(found.probabilities[:, k].sum(), 4)[0],
        "presence": brief(found.presence[k], 3)[0],
        "overlap": None if np.isnan(found.overlap[k]) else brief(found.overlap[k], 2)[0],
        "weights": [
            [labels.columns[m], brief(findings.weights[k, m], 3)[0], None if sd is None else brief(sd[k, m], 2)[0]]
            for m in strongest
        ],
    }


def imputations(posterior: Posterior, labels: Labels, probability: float) -> tuple[dict[str, Any], list[str]]:
    """Return imputed entries with their intervals, and a sentence if some were left out."""
    found = posterior.imputations(probability)
    total = len(found.rows)
    kept = _chosen(total, _MOST_IMPUTED)
    rows, columns = found.rows[kept], found.columns[kept]
    center, scale = labels.center[columns], labels.scale[columns]
    notes = []
    if len(kept) < total:
        notes = [f"The table has {len(kept):,} of {total:,} imputed entries, evenly spaced over the data."]
    used = np.unique(columns)
    return {
        "total": total,
        "row": rows.tolist(),
        "column": np.searchsorted(used, columns).tolist(),
        "used": used.tolist(),
        "column_names": [labels.columns[m] for m in used],
        "row_names": {} if labels.rows is None else {int(i): labels.rows[i] for i in np.unique(rows)},
        "at": brief(labels.covariates[0][1][rows], 9) if labels.covariates else None,
        "mean": brief(center + scale * found.mean[kept]),
        "sd": brief(scale * found.sd[kept], 3),
        "low": brief(center + scale * found.low[kept]),
        "high": brief(center + scale * found.high[kept]),
    }, notes
