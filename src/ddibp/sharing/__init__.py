"""Who shares how many features with whom, across priors: expectations, limits, simulation, the inverse problem."""

from ddibp.sharing.comparison import SharingMatrix, expected, limiting_fraction, simulate
from ddibp.sharing.inverse import SharingFit, fit_decay, fit_distances

__all__ = ["SharingFit", "SharingMatrix", "expected", "fit_decay", "fit_distances", "limiting_fraction", "simulate"]
