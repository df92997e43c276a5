"""Priors by name: parameters that are not given are learned, around the distances of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp import registry
from ddibp.hyperpriors import Gamma

FloatArray = NDArray[np.float64]

DECAY_PARAMETERS = ("beta", "nu")
_MOST_ROWS_LOOKED_AT = 500
_MOST_DISTANCES = 10_000_000


def parameters_of(name: str) -> tuple[str, ...]:
    """Return the parameters of a prior, and with its decay those that decays have."""
    own = tuple(field.name for field in fields(registry.priors()[name]))
    return (*own, *DECAY_PARAMETERS) if "decay" in own else own


def make_prior(name: str, given: Mapping[str, Any]) -> Any:
    """Return a prior; its decay may be a name, with parameters beside those of the prior."""
    given = dict(given)
    if "decay" in parameters_of(name):
        of_decay = {key: given.pop(key) for key in DECAY_PARAMETERS if key in given}
        given["decay"] = registry.make_decay(given.get("decay", "exponential"), **of_decay)
    return registry.make_prior(name, **given)


def learned_prior(name: str, covariates: Any, given: Mapping[str, Any], groups: Any = None) -> Any:
    """Return a prior whose parameters, where they are not given, are learned.

    With l the geometric mean of two distances, the median one between rows and the median one from a row to the
    nearest other, the exponential decay has beta ~ Gamma(1, l), the logistic nu ~ Gamma(4, 1) and beta ~ Gamma(1, l/4),
    the window nu ~ Gamma(2, 2/l), and a kernel length_scale ~ Gamma(2, 2/l), shape and rate: decays and correlations
    fall at about l, within an order of magnitude. Concentrations c0 and c1 have Gamma(2, 1). Of the variance of a
    kernel and the nugget only the ratio matters, and that stays as it is given.
    """
    known = parameters_of(name)
    decay = given.get("decay", "exponential") if "decay" in known else None
    wanted: dict[str, Gamma] = {key: Gamma(2.0, 1.0) for key in ("c0", "c1") if key in known}
    scaled = {"exponential": ("beta",), "logistic": ("beta", "nu"), "window": ("nu",)}.get(str(decay), ())
    scaled += ("length_scale",) if "length_scale" in known else ()
    if any(key not in given for key in scaled):
        metric = given.get("metric", "euclidean") if "metric" in known else "euclidean"
        length = typical_length(covariates, groups, metric)
        if length is None:
            raise ValueError(
                "covariates must differ between rows (of a group) for a decay of their distance to be learned; "
                "give its parameters, or use --prior ibp, which needs no covariates."
            )
        laws = {
            "exponential": {"beta": Gamma(1.0, rounded(length))},
            "logistic": {"beta": Gamma(1.0, rounded(length / 4.0)), "nu": Gamma(4.0, 1.0)},
            "window": {"nu": Gamma(2.0, rounded(2.0 / length))},
        }
        wanted |= laws.get(str(decay), {})
        wanted |= {"length_scale": Gamma(2.0, rounded(2.0 / length))} if "length_scale" in known else {}
    return make_prior(name, {**wanted, **given})


def typical_length(covariates: Any, groups: Any = None, metric: str = "euclidean") -> float | None:
    """Return l as above, from distances within groups; None where all rows are in one place."""
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
        return None
    return math.sqrt(float(np.nanmedian(apart)) * float(np.median(np.nanmin(apart, axis=1))))


def rounded(value: float) -> float:
    """Return a number with three digits."""
    return float(f"{value:.3g}")
