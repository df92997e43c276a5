"""What priors with independent Poisson pattern counts share: a matrix's probability from the rates of its columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp import _check
from ddibp.hyperpriors import Gamma


def check_mass(name: str, value: Any) -> None:
    """Raise unless ``value`` is a positive number or a `Gamma`."""
    if not isinstance(value, Gamma):
        if not isinstance(value, (int, float, np.integer, np.floating)):
            raise TypeError(f"{name} must be a positive number (fixed) or a Gamma (learned), got {value!r}.")
        _check.number(name, value, low=0.0, open_low=True)


def mean_mass(mass: float | Gamma) -> float:
    """Return the mass, or its prior mean."""
    return mass.mean if isinstance(mass, Gamma) else float(mass)


def draw_mass(mass: float | Gamma, rng: np.random.Generator) -> float:
    """Return the mass, or a draw of it."""
    return mass.sample(rng) if isinstance(mass, Gamma) else float(mass)


def log_matrix_probability(
    Z: NDArray[np.bool_], log_unit_rates: NDArray[np.float64], unit_total: float, mass: float | Gamma
) -> float:
    r"""Return :math:`-\alpha\Lambda_1 + \sum_k \log(\alpha\rho_{z_k}) - \sum_z \log n_z!`, rates given for mass 1.

    A `Gamma` mass is integrated out. Empty columns are impossible.
    """
    if not Z.any(axis=0).all():
        return -math.inf
    rates = float(log_unit_rates.sum())
    if rates == -math.inf:
        return -math.inf
    K = Z.shape[1]
    if isinstance(mass, Gamma):
        total = mass.log_poisson_evidence(K, unit_total)
    else:
        total = K * math.log(mass) - float(mass) * unit_total
    return total + rates - _log_multiplicities(Z)


def _log_multiplicities(Z: NDArray[np.bool_]) -> float:
    """Return the sum of log n! over groups of n equal columns."""
    if Z.shape[1] < 2:
        return 0.0
    counts = np.unique(np.packbits(Z.T, axis=1), axis=0, return_counts=True)[1]
    return sum(math.lgamma(n + 1) for n in counts.tolist())
