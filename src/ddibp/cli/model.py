"""Priors from options: as they are for simulation, with priors on what is not given for fits."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp import registry
from ddibp.hyperpriors import Gamma
from ddibp.likelihoods import LinearGaussian

FloatArray = NDArray[np.float64]

DECAY_PARAMETERS = ("beta", "nu")
PARAMETERS = (
    *("decay", *DECAY_PARAMETERS, "alpha", "gamma", "c0", "c1", "coupling", "permutation"),
    *("kernel", "length_scale", "variance", "nugget"),
    *("sequential", "metric", "cutoff"),
)
_MOST_ROWS_LOOKED_AT = 500
_MOST_DISTANCES = 10_000_000


def given_prior(options: dict[str, Any]) -> Any:
    """Return the prior that options describe; what is not given has the prior's own default."""
    name = options["prior"]
    given = {key: options[key] for key in PARAMETERS if options.get(key) is not None}
    if "decay" in {field.name for field in fields(registry.priors()[name])}:
        parameters = {key: given.pop(key) for key in DECAY_PARAMETERS if key in given}
        given["decay"] = registry.make_decay(given.get("decay", "exponential"), **parameters)
    return registry.make_prior(name, **given)


def learned_prior(options: dict[str, Any], covariates: FloatArray | None, groups: list[str] | None) -> Any:
    """Return the prior of a fit: parameters of the decay that are not given are learned.

    With l the geometric mean of two distances, the median one between rows and the median one from a row to the
    nearest other, the exponential decay has beta ~ Gamma(1, l), the logistic nu ~ Gamma(4, 1) and beta ~ Gamma(1, l/4),
    and the window nu ~ Gamma(2, 2/l), shape and rate. The decay then falls at about l, within an order of magnitude.
    """
    decay = options.get("decay") or "exponential"
    if options["prior"] == "ibp" or covariates is None or decay == "constant":
        return given_prior(options)
    length = _length(covariates, groups, options.get("metric") or "euclidean")
    scales = {
        "exponential": {"beta": Gamma(1.0, _rounded(length))},
        "logistic": {"beta": Gamma(1.0, _rounded(length / 4.0)), "nu": Gamma(4.0, 1.0)},
        "window": {"nu": Gamma(2.0, _rounded(2.0 / length))},
    }
    learned = {name: prior for name, prior in scales.get(decay, {}).items() if options.get(name) is None}
    return given_prior({**options, **learned})


def _length(covariates: FloatArray, groups: list[str] | None, metric: str) -> float:
    from ddibp.proximity import metrics

    points = metrics.as_points(covariates)
    looked_at = min(_MOST_ROWS_LOOKED_AT, max(1, _MOST_DISTANCES // len(points)))
    rows = slice(0, len(points), -(-len(points) // looked_at))
    distances = metrics.embed(points, metric).pairwise(rows)
    if groups is not None:
        codes = np.unique(groups, return_inverse=True)[1]
        distances = np.where(codes[rows, None] == codes, distances, 0.0)
    distances = np.where((distances > 0.0) & np.isfinite(distances), distances, np.nan)
    apart = distances[~np.isnan(distances).all(axis=1)]
    if not apart.size:
        raise ValueError(
            "covariates must differ between rows (of a group) for a decay of their distance to be learned; "
            "give its parameters, or use --prior ibp, which needs no covariates."
        )
    return math.sqrt(float(np.nanmedian(apart)) * float(np.median(np.nanmin(apart, axis=1))))


def likelihood(options: dict[str, Any], X: FloatArray) -> LinearGaussian:
    """Return the likelihood of a fit: scales that are not given are learned, from the spread of the data."""
    spread = _rounded(float(np.nanstd(X)))
    scale = Gamma(1.0, _rounded(1.0 / spread)) if spread > 0.0 else Gamma(1.0, 1.0)
    given = {name: scale if options[name] is None else options[name] for name in ("sigma_x", "sigma_w")}
    return LinearGaussian(**given, collapsed=not options["keep_weights"])


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
