"""Covariates or distances and a decay make a proximity: who may link to whom, and how strongly."""

from ddibp.proximity.decays import Constant, CustomDecay, Decay, Exponential, Logistic, Window, as_decay
from ddibp.proximity.matrix import Proximity

__all__ = ["Constant", "CustomDecay", "Decay", "Exponential", "Logistic", "Proximity", "Window", "as_decay"]
