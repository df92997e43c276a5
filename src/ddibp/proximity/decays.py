r"""Decay functions :math:`f`: how the inclination to link falls with distance.

A decay maps distances :math:`d \in [0, \infty]` to :math:`[0, 1]`, does not increase, has :math:`f(0) > 0`, and
:math:`f(\infty) = 0` (unreachable). Logarithms are the primary form, so that proximities may span hundreds of orders of
magnitude.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddibp import _check
from ddibp._spec import Spec
from ddibp.hyperpriors import Gamma

FloatArray: TypeAlias = NDArray[np.float64]


class Decay(Spec):
    """What every decay answers: ``log(d)``, ``reach(tolerance)``; calling it gives :math:`f(d)`.

    Examples
    --------
    >>> from ddibp import Decay, Exponential
    >>> decay = Exponential(0.5)
    >>> isinstance(decay, Decay), decay.log(2.0)
    (True, -1.0)
    """

    def __call__(self, distances: ArrayLike) -> Any:
        """Return :math:`f(d)`, elementwise, as a float for a scalar and an array otherwise."""
        self._require_numbers()
        d = _as_distances(distances)
        f = np.exp(self._log(d))
        return float(f) if f.ndim == 0 else f

    def log(self, distances: ArrayLike) -> Any:
        r"""Return :math:`\log f(d)`, elementwise (``-inf`` where unreachable), without underflow."""
        self._require_numbers()
        log_f = self._log(_as_distances(distances))
        return float(log_f) if log_f.ndim == 0 else log_f

    def _require_numbers(self) -> None:
        for name, prior in self.learned.items():
            raise ValueError(
                f"{name} has a prior, {prior!r}, to be learned from data; here a number is needed, "
                f"for example set_params({name}={prior.mean:g})."
            )

    @property
    def learned(self) -> dict[str, Gamma]:
        """The parameters that have a prior instead of a number."""
        return {k: v for k, v in self.get_params(deep=False).items() if isinstance(v, Gamma)}

    @abstractmethod
    def _log(self, d: FloatArray) -> FloatArray:
        """Return the log of the decay at checked distances."""

    @abstractmethod
    def reach(self, tolerance: float = 0.0) -> float:
        """Return the distance from which on :math:`f(d)` is at most ``tolerance`` (``inf``: never)."""


@dataclass(frozen=True)
class Constant(Decay):
    r""":math:`f(d) = 1` for all finite distances. With sequential distances the dd-IBP is then the IBP.

    Examples
    --------
    >>> from ddibp import Constant
    >>> Constant()([0.0, 5.0, float("inf")])
    array([1., 1., 0.])
    """

    def _log(self, d: FloatArray) -> FloatArray:
        return np.where(np.isinf(d), -np.inf, 0.0)

    def reach(self, tolerance: float = 0.0) -> float:
        """Return infinity: the constant decay never falls (for a tolerance below 1)."""
        return math.inf if _tolerance(tolerance) < 1.0 else 0.0


@dataclass(frozen=True)
class Exponential(Decay):
    r""":math:`f(d) = e^{-\beta d}`.

    Parameters
    ----------
    beta : float or Gamma
        Rate :math:`\beta \ge 0`; ``0`` is the constant decay. A `Gamma` is a prior: posterior sampling learns it.

    Examples
    --------
    >>> from ddibp import Exponential
    >>> Exponential(0.5)([0.0, 2.0])
    array([1.        , 0.36787944])
    >>> round(Exponential(0.1).reach(1e-6), 2)
    138.16
    """

    beta: float | Gamma = 1.0

    def __post_init__(self) -> None:
        _number_or_prior("beta", self.beta)

    def _log(self, d: FloatArray) -> FloatArray:
        beta = _value(self.beta)
        return -beta * d if beta > 0.0 else Constant()._log(d)

    def reach(self, tolerance: float = 0.0) -> float:
        r"""Return :math:`\log(1/\mathrm{tol})/\beta`."""
        self._require_numbers()
        tol, beta = _tolerance(tolerance), _value(self.beta)
        if tol >= 1.0:
            return 0.0
        return math.inf if tol == 0.0 or beta == 0.0 else -math.log(tol) / beta


@dataclass(frozen=True)
class Logistic(Decay):
    r""":math:`f(d) = 1 / (1 + e^{\beta d - \nu})`, a soft window of half-width :math:`\nu/\beta`.

    :math:`f(0) = 1/(1 + e^{-\nu}) < 1`. It is used as it stands: the normaliser :math:`h_i` absorbs it in the links,
    and the expected number of features per row becomes :math:`\alpha/f(0)` for sequential distances.

    Parameters
    ----------
    beta : float or Gamma
        Steepness :math:`\beta > 0`.
    nu : float or Gamma
        Offset :math:`\nu`. A `Gamma` is a prior: posterior sampling learns the parameter.

    Examples
    --------
    >>> from ddibp import Logistic
    >>> Logistic(beta=1.0, nu=2.0)([0.0, 2.0]).round(3)
    array([0.881, 0.5  ])
    """

    beta: float | Gamma = 1.0
    nu: float | Gamma = 1.0

    def __post_init__(self) -> None:
        _number_or_prior("beta", self.beta, open_low=True)
        _number_or_prior("nu", self.nu, low=-math.inf)

    def _log(self, d: FloatArray) -> FloatArray:
        return -np.logaddexp(0.0, _value(self.beta) * d - _value(self.nu))

    def reach(self, tolerance: float = 0.0) -> float:
        r"""Return :math:`(\nu + \log(1/\mathrm{tol} - 1))/\beta`."""
        self._require_numbers()
        tol = _tolerance(tolerance)
        if tol == 0.0:
            return math.inf
        if tol >= 1.0:
            return 0.0
        return max(0.0, (_value(self.nu) + math.log1p(-tol) - math.log(tol)) / _value(self.beta))


@dataclass(frozen=True)
class Window(Decay):
    r""":math:`f(d) = 1[d < \nu]`: rows closer than :math:`\nu` count alike, all others not at all.

    Parameters
    ----------
    nu : float or Gamma
        Width :math:`\nu > 0` (exclusive: a distance of exactly :math:`\nu` is out). A `Gamma` is a prior: posterior
        sampling learns it.

    Examples
    --------
    >>> from ddibp import Window
    >>> Window(3.0)([0.0, 2.9, 3.0])
    array([1., 1., 0.])
    """

    nu: float | Gamma = 1.0

    def __post_init__(self) -> None:
        _number_or_prior("nu", self.nu, open_low=True)

    def _log(self, d: FloatArray) -> FloatArray:
        return np.where(d < _value(self.nu), 0.0, -np.inf)

    def reach(self, tolerance: float = 0.0) -> float:
        r"""Return :math:`\nu`."""
        self._require_numbers()
        return _value(self.nu) if _tolerance(tolerance) < 1.0 else 0.0


@dataclass(frozen=True)
class CustomDecay(Decay):
    r"""A decay from any vectorised callable; a bare callable is wrapped in this wherever a decay is expected.

    It is probed when it is made: :math:`f(0) \in (0, 1]`, :math:`f(\infty) = 0`, values in [0, 1], non-increasing; its
    values at the distances of the data are checked again when a proximity is built.

    Parameters
    ----------
    function : callable
        Takes an array of distances and returns an array of the same shape.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import CustomDecay
    >>> gaussian = CustomDecay(lambda d: np.exp(-0.5 * d**2))
    >>> gaussian([0.0, 1.0]).round(3)
    array([1.   , 0.607])
    >>> round(gaussian.reach(0.01), 3)
    3.035
    """

    function: Callable[[FloatArray], ArrayLike]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"decay must be a decay or a callable, got {self.function!r}.")
        probes = np.concatenate([[0.0], np.logspace(-6, 6, 121)])
        self._log(probes)
        if self._evaluate(np.zeros(1))[0] <= 0.0:
            raise ValueError("decay must be positive at distance 0: a row is always within reach of itself.")
        at_infinity = self._evaluate(np.array([np.inf]))[0]
        if at_infinity != 0.0:
            raise ValueError(
                f"decay must be 0 at infinite distance (rows out of reach), got {at_infinity:g}; "
                "return 0 where the distance is numpy.inf."
            )

    def _evaluate(self, d: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            f = np.asarray(self.function(d), dtype=np.float64)
        if f.shape != d.shape:
            raise ValueError(
                f"decay must return one value per distance, got shape {f.shape} for distances of shape {d.shape}; "
                "wrap a scalar function in numpy.vectorize."
            )
        wrong = ~((f >= 0.0) & (f <= 1.0))
        if wrong.any():
            raise ValueError(f"decay must lie in [0, 1], got {f[wrong][0]:g} at distance {d[wrong][0]:g}.")
        return f

    def _log(self, d: FloatArray) -> FloatArray:
        f = self._evaluate(d)
        order = np.argsort(d, axis=None)
        rises = np.diff(f.ravel()[order]) > 1e-12
        if rises.any():
            at = d.ravel()[order][int(np.argmax(rises))]
            raise ValueError(f"decay must not increase with distance, but it rises after distance {at:g}.")
        with np.errstate(divide="ignore"):
            return np.log(f)

    def reach(self, tolerance: float = 0.0) -> float:
        """Return the distance at which the callable falls to ``tolerance``, by bisection (``inf`` if never by 1e12)."""
        tol = _tolerance(tolerance)

        def low(d: float) -> bool:
            return bool(self._evaluate(np.array([d]))[0] <= tol)

        if low(0.0):
            return 0.0
        upper = 1e-12
        while not low(upper):
            upper *= 2.0
            if upper > 1e12:
                return math.inf
        lower = 0.0
        while upper - lower > 1e-12 * upper:
            middle = 0.5 * (lower + upper)
            if middle in (lower, upper):
                break
            if low(middle):
                upper = middle
            else:
                lower = middle
        return upper


def as_decay(decay: Any, name: str = "decay") -> Decay:
    """Return ``decay`` itself, or a callable wrapped in `CustomDecay`."""
    if isinstance(decay, Decay):
        return decay
    if isinstance(decay, type) and issubclass(decay, Decay):
        raise TypeError(f"{name} must be a decay such as {decay.__name__}(...), got the class itself; call it.")
    if callable(decay):
        return CustomDecay(decay)
    raise TypeError(f"{name} must be Constant, Exponential, Logistic, Window or a callable, got {decay!r}.")


def _as_distances(distances: ArrayLike) -> FloatArray:
    d = np.asarray(distances, dtype=np.float64)
    if np.isnan(d).any():
        raise ValueError("distances must not be NaN.")
    if (d < 0).any():
        raise ValueError(f"distances must not be negative, got {d[d < 0].flat[0]:g}.")
    return d


def _number_or_prior(name: str, value: Any, *, low: float = 0.0, open_low: bool = False) -> None:
    if not isinstance(value, Gamma):
        _check.number(name, value, low=low, open_low=open_low)


def _value(value: float | Gamma) -> float:
    assert not isinstance(value, Gamma)
    return float(value)


def _tolerance(tolerance: float) -> float:
    return _check.number("tolerance", tolerance, low=0.0)
