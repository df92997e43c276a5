"""What falls with distance under a prior: its decay, or the correlation of its kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ddibp.hyperpriors import Gamma
from ddibp.priors import DIBP
from ddibp.priors._columns import mean_mass
from ddibp.priors._covariance import cross_correlation


@dataclass(frozen=True)
class KernelCorrelation:
    """The correlation of the Gaussian values of two rows under a dIBP, which answers what a decay answers."""

    prior: DIBP

    @property
    def learned(self) -> dict[str, Gamma]:
        """The parameters that have a prior instead of a number."""
        return self.prior.learned

    def set_params(self, **parameters: float) -> KernelCorrelation:
        """Return the correlation at other parameters."""
        return KernelCorrelation(self.prior.set_params(**parameters))

    def __call__(self, distances: ArrayLike) -> Any:
        """Return correlations, below 1 at distance 0 by the share of the nugget."""
        d = np.atleast_1d(np.asarray(distances, dtype=np.float64))
        scales = [mean_mass(getattr(self.prior, name)) for name in ("length_scale", "variance", "nugget")]
        return cross_correlation(self.prior.kernel, np.zeros((1, 1)), d[:, None], *scales)[0]

    def reach(self, tolerance: float) -> float:
        """Return the distance at which the correlation has fallen to ``tolerance``; infinite if that is 0."""
        if tolerance <= 0.0:
            return math.inf
        d = mean_mass(self.prior.length_scale) * np.logspace(-3.0, 4.0, 1401)
        below = np.flatnonzero(self(d) <= tolerance)
        return float(d[below[0]]) if below.size else math.inf


def falling(prior: Any) -> Any:
    """Return the decay of a prior, or the correlation of its kernel if that has a name; None if there is neither."""
    if isinstance(prior, DIBP):
        return KernelCorrelation(prior) if isinstance(prior.kernel, str) else None
    return getattr(prior, "decay", None)


def name_of(curve: Any) -> str:
    """Return what a curve is called."""
    return "correlation" if isinstance(curve, KernelCorrelation) else "decay"
