r"""The linear-Gaussian likelihood: :math:`X = ZW + \varepsilon`, weights and noise Gaussian.

With :math:`W_{km} \sim N(0, \sigma_w^2)` and :math:`\varepsilon_{im} \sim N(0, \sigma_x^2)` every output (column of
X) is :math:`N(0, \sigma_x^2 I + \sigma_w^2 Z Z^T)` once the weights are summed out. With
:math:`r = \sigma_x^2/\sigma_w^2` and :math:`H = Z^T Z + r I`,

.. math:: \log p(X \mid Z) = -\tfrac{NM}{2} \log 2\pi\sigma_x^2 + \tfrac{KM}{2}\log r - \tfrac{M}{2}\log\det H
          - \frac{\|X\|^2 - \mathrm{tr}(X^T Z H^{-1} Z^T X)}{2\sigma_x^2}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddibp import _check
from ddibp._random import RandomState, as_generator
from ddibp._spec import Spec
from ddibp.hyperpriors import Gamma, InverseGamma, ScalePrior

FloatArray = NDArray[np.float64]


class WeightsPosterior(NamedTuple):
    """Posterior of the weights given features: every output has its own mean and (with missing data) covariance.

    Attributes
    ----------
    mean : ndarray of shape (n_features, n_outputs)
        Posterior means of W.
    covariance : ndarray of shape (n_outputs, n_features, n_features)
        Posterior covariance of the weights of each output.
    """

    mean: FloatArray
    covariance: FloatArray


@dataclass(frozen=True)
class LinearGaussian(Spec):
    r"""Linear-Gaussian likelihood with noise :math:`\sigma_x` and weights of scale :math:`\sigma_w`.

    Parameters
    ----------
    sigma_x, sigma_w : float, Gamma, InverseGamma or None
        Standard deviations of the noise and of the weights. A number is fixed; a `Gamma` is a prior on the standard
        deviation, an `InverseGamma` one on its square; it is then learned. None stands for ``Gamma(1, 1)``.
        A learned :math:`\sigma_x` stays above :math:`10^{-4} \sigma_w`; data without noise would send it to 0.
    collapsed : bool
        Sample with the weights summed out (missing entries are then imputed in every iteration), or with weights that
        are part of the state (missing entries are then left out exactly).

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import LinearGaussian
    >>> X = np.array([[1.0, np.nan], [0.5, -0.3]])
    >>> round(LinearGaussian(sigma_x=0.5, sigma_w=1.0).logpdf(X, [[1], [1]]), 4)
    -3.1167
    """

    sigma_x: float | Gamma | InverseGamma | None = field(default_factory=Gamma)
    sigma_w: float | Gamma | InverseGamma | None = field(default_factory=Gamma)
    collapsed: bool = True

    def __post_init__(self) -> None:
        for name in ("sigma_x", "sigma_w"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, Gamma())
            if not isinstance(getattr(self, name), ScalePrior):
                _check.number(name, getattr(self, name), low=0.0, open_low=True)
        _check.flag("collapsed", self.collapsed)

    def logpdf(self, X: Any, Z: Any) -> float:
        """Return the log density of the observed entries of X given features, weights summed out.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_outputs)
            Data; NaN marks missing entries, which are marginalised exactly.
        Z : array-like of shape (n_rows, n_features)
            Binary features.
        """
        X = check_data(X)
        Z = _check.binary_matrix("Z", Z, len(X)).astype(np.float64)
        sigma_x, sigma_w = self._numbers()
        total = 0.0
        for rows, outputs in missing_patterns(X):
            Zo = Z[rows]
            total += log_marginal(
                Zo.T @ Zo, Zo.T @ X[np.ix_(rows, outputs)], _squares(X, rows, outputs), sigma_x, sigma_w
            )
            total -= len(rows) * len(outputs) * (0.5 * math.log(2.0 * math.pi) + math.log(sigma_x))
        return total

    def weights(self, X: Any, Z: Any) -> WeightsPosterior:
        r"""Return the posterior of W given features: per output :math:`N(H^{-1} Z^T x, \sigma_x^2 H^{-1})`.

        Parameters
        ----------
        X, Z
            As in `logpdf`; missing entries are left out.
        """
        X = check_data(X)
        Z = _check.binary_matrix("Z", Z, len(X)).astype(np.float64)
        sigma_x, sigma_w = self._numbers()
        K = Z.shape[1]
        mean, covariance = np.zeros((K, X.shape[1])), np.zeros((X.shape[1], K, K))
        for rows, outputs in missing_patterns(X):
            Zo = Z[rows]
            inverse = np.linalg.inv(Zo.T @ Zo + (sigma_x / sigma_w) ** 2 * np.eye(K))
            mean[:, outputs] = inverse @ (Zo.T @ X[np.ix_(rows, outputs)])
            covariance[outputs] = sigma_x**2 * inverse
        return WeightsPosterior(mean, covariance)

    def simulate(self, Z: Any, n_outputs: int, *, rng: RandomState = None) -> tuple[FloatArray, FloatArray]:
        """Draw weights and data given features; return (X, W)."""
        generator = as_generator(rng)
        Z = _check.binary_matrix("Z", Z).astype(np.float64)
        M = _check.count("n_outputs", n_outputs, low=1)
        sigma_x, sigma_w = (
            value.sample(generator) if isinstance(value, ScalePrior) else float(value)  # type: ignore[arg-type]
            for value in (self.sigma_x, self.sigma_w)
        )
        W = sigma_w * generator.standard_normal((Z.shape[1], M))
        return Z @ W + sigma_x * generator.standard_normal((len(Z), M)), W

    def _numbers(self) -> tuple[float, float]:
        for name in ("sigma_x", "sigma_w"):
            if isinstance(getattr(self, name), ScalePrior):
                raise ValueError(
                    f"{name} has a prior, {getattr(self, name)!r}; a density needs a number: set_params({name}=0.5)."
                )
        return float(self.sigma_x), float(self.sigma_w)  # type: ignore[arg-type]


def check_data(X: Any) -> FloatArray:
    """Return X as a float matrix with NaN for missing entries, or say what is wrong with it."""
    try:
        data = np.array(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError("X must be a matrix of numbers (NaN where missing).") from None
    if data.ndim != 2 or data.size == 0:
        raise ValueError(f"X must be a matrix of at least one row and one column, got shape {data.shape}.")
    if np.isinf(data).any():
        i, m = np.argwhere(np.isinf(data))[0]
        raise ValueError(f"X must be finite (NaN where missing), got {data[i, m]} in row {i}, column {m}.")
    return data


def missing_patterns(X: FloatArray) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return (observed rows, outputs) for every pattern of missing entries that outputs share."""
    observed = ~np.isnan(X)
    packed = np.packbits(observed, axis=0).T
    _, first, inverse = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    return [(np.flatnonzero(observed[:, m]), np.flatnonzero(inverse == p)) for p, m in enumerate(first)]


def log_marginal(gram: FloatArray, cross: FloatArray, squares: float, sigma_x: float, sigma_w: float) -> float:
    r"""Return :math:`\log p(X \mid Z)` up to :math:`-\frac{NM}{2}\log 2\pi\sigma_x^2`, from sufficient statistics.

    ``gram`` is :math:`Z^T Z`, ``cross`` is :math:`Z^T X` and ``squares`` is :math:`\|X\|^2`.
    """
    K, M = cross.shape
    r = (sigma_x / sigma_w) ** 2
    lower = np.linalg.cholesky(gram + r * np.eye(K))
    fitted = np.linalg.solve(lower, cross)
    log_det = 2.0 * float(np.log(np.diagonal(lower)).sum())
    return 0.5 * M * (K * math.log(r) - log_det) - (squares - float((fitted**2).sum())) / (2.0 * sigma_x**2)


def _squares(X: FloatArray, rows: NDArray[np.intp], outputs: NDArray[np.intp]) -> float:
    return float((X[np.ix_(rows, outputs)] ** 2).sum())
