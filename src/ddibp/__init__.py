"""Infinite latent feature models for data with a time, a place, an age or any distance between rows.

Names are imported when first used, so that ``import ddibp`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ddibp._version import __version__

_HOMES = {
    "Constant": "ddibp.proximity",
    "CustomDecay": "ddibp.proximity",
    "Decay": "ddibp.proximity",
    "Exponential": "ddibp.proximity",
    "Logistic": "ddibp.proximity",
    "Proximity": "ddibp.proximity",
    "Window": "ddibp.proximity",
    "Gamma": "ddibp.hyperpriors",
    "InverseGamma": "ddibp.hyperpriors",
    "AIBD": "ddibp.priors",
    "DDIBP": "ddibp.priors",
    "DHBP": "ddibp.priors",
    "DIBP": "ddibp.priors",
    "IBP": "ddibp.priors",
    "LinearGaussian": "ddibp.likelihoods",
    "LatentFeatureImputer": "ddibp.imputation",
    "LatentFeatures": "ddibp.estimators",
    "Posterior": "ddibp.sampling",
    "load_posterior": "ddibp.sampling",
    "sample_posterior": "ddibp.sampling",
    "Draw": "ddibp.contract",
    "SharingLaw": "ddibp.laws",
}
_MODULES = (
    "contract",
    "datasets",
    "plots",
    "prediction",
    "registry",
    "report",
    "sampling",
    "sharing",
    "summaries",
    "testing",
)

__all__ = [
    "AIBD",
    "DDIBP",
    "DHBP",
    "DIBP",
    "IBP",
    "Constant",
    "CustomDecay",
    "Decay",
    "Draw",
    "Exponential",
    "Gamma",
    "InverseGamma",
    "LatentFeatureImputer",
    "LatentFeatures",
    "LinearGaussian",
    "Logistic",
    "Posterior",
    "Proximity",
    "SharingLaw",
    "Window",
    "__version__",
    "contract",
    "datasets",
    "load_posterior",
    "plots",
    "prediction",
    "registry",
    "report",
    "sample_posterior",
    "sampling",
    "sharing",
    "summaries",
    "testing",
]

if TYPE_CHECKING:
    from ddibp import contract, datasets, plots, prediction, registry, report, sampling, sharing, summaries, testing
    from ddibp.contract import Draw
    from ddibp.estimators import LatentFeatures
    from ddibp.hyperpriors import Gamma, InverseGamma
    from ddibp.imputation import LatentFeatureImputer
    from ddibp.laws import SharingLaw
    from ddibp.likelihoods import LinearGaussian
    from ddibp.priors import AIBD, DDIBP, DHBP, DIBP, IBP
    from ddibp.proximity import Constant, CustomDecay, Decay, Exponential, Logistic, Proximity, Window
    from ddibp.sampling import Posterior, load_posterior, sample_posterior


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"ddibp.{name}")
    raise AttributeError(f"module 'ddibp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
