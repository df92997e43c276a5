"""Chains, checkpoints and what comes out of them; no mathematics of any model.

Names are imported when first used: samplers compile, posteriors load tables.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "FiniteSampler": "finite",
    "Posterior": "posterior",
    "PosteriorSampler": "sampler",
    "Sampler": "protocol",
    "load_posterior": "posterior",
    "run": "chains",
    "sample_posterior": "sample",
}

__all__ = ["FiniteSampler", "Posterior", "PosteriorSampler", "Sampler", "load_posterior", "run", "sample_posterior"]

if TYPE_CHECKING:
    from ddibp.sampling.chains import run
    from ddibp.sampling.finite import FiniteSampler
    from ddibp.sampling.posterior import Posterior, load_posterior
    from ddibp.sampling.protocol import Sampler
    from ddibp.sampling.sample import sample_posterior
    from ddibp.sampling.sampler import PosteriorSampler


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"ddibp.sampling.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'ddibp.sampling' has no attribute {name!r}")
