"""Chains, checkpoints and what comes out of them; no mathematics of any model."""

from ddibp.sampling.chains import run
from ddibp.sampling.posterior import Posterior, load_posterior
from ddibp.sampling.protocol import Sampler

__all__ = ["Posterior", "Sampler", "load_posterior", "run"]
