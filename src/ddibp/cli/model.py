"""Priors from options: as they are for simulation, with priors on what is not given for fits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp import _defaults
from ddibp.hyperpriors import Gamma
from ddibp.likelihoods import LinearGaussian

FloatArray = NDArray[np.float64]

PARAMETERS = (
    *("decay", *_defaults.DECAY_PARAMETERS, "alpha", "gamma", "c0", "c1", "coupling", "permutation"),
    *("kernel", "length_scale", "variance", "nugget"),
    *("sequential", "metric", "cutoff"),
)


def given_prior(options: dict[str, Any]) -> Any:
    """Return the prior that options describe; what is not given has the prior's own default."""
    return _defaults.make_prior(options["prior"], _given(options))


def learned_prior(options: dict[str, Any], covariates: FloatArray | None, groups: list[str] | None) -> Any:
    """Return the prior of a fit: parameters that are not given are learned."""
    return _defaults.learned_prior(options["prior"], covariates, _given(options), groups)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: options[key] for key in PARAMETERS if options.get(key) is not None}


def likelihood(options: dict[str, Any], X: FloatArray) -> LinearGaussian:
    """Return the likelihood of a fit: scales that are not given are learned, from the spread of the data."""
    spread = _defaults.rounded(float(np.nanstd(X)))
    scale = Gamma(1.0, _defaults.rounded(1.0 / spread)) if spread > 0.0 else Gamma(1.0, 1.0)
    given = {name: scale if options[name] is None else options[name] for name in ("sigma_x", "sigma_w")}
    return LinearGaussian(**given, collapsed=not options["keep_weights"])
