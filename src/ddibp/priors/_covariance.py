r"""Covariance kernels over covariates, by name or from scikit-learn, and the correlations that they give.

Everything from scikit-learn is imported when it is first needed.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp.proximity.neighbours import require_square_memory

FloatArray = NDArray[np.float64]

_HOME = "sklearn.gaussian_process.kernels"
_NAMED: dict[str, tuple[str, dict[str, float]]] = {
    "rbf": ("RBF", {}),
    "matern12": ("Matern", {"nu": 0.5}),
    "matern32": ("Matern", {"nu": 1.5}),
    "matern52": ("Matern", {"nu": 2.5}),
    "rational quadratic": ("RationalQuadratic", {}),
}
NAMES = tuple(_NAMED)


def is_kernel(value: Any) -> bool:
    """Return whether ``value`` is a kernel of scikit-learn, which is not imported for the answer."""
    kernels = sys.modules.get(_HOME)  # no instance exists before the module does
    return kernels is not None and isinstance(value, kernels.Kernel)


def check_kernel(kernel: Any) -> None:
    """Raise unless ``kernel`` is a known name or a kernel of scikit-learn."""
    if isinstance(kernel, str):
        if kernel not in NAMES:
            raise ValueError(
                f"kernel must be one of {', '.join(map(repr, NAMES))} or a kernel of {_HOME}, got {kernel!r}."
            )
    elif not is_kernel(kernel):
        raise TypeError(
            f"kernel must be a name ({', '.join(map(repr, NAMES))}) or an instance of a kernel of {_HOME}, "
            f"got {kernel!r}."
        )


def correlation_matrix(
    kernel: Any,
    points: FloatArray,
    groups: NDArray[np.int64] | None,
    length_scale: float,
    variance: float,
    nugget: float,
) -> FloatArray:
    r"""Return the correlations of :math:`h_i = g(t_i) + \epsilon_i`, 0 between rows of different groups.

    :math:`g` has the covariance :math:`\sigma^2 k(t/\ell, t'/\ell)` and :math:`\epsilon_i` the variance ``nugget``.
    """
    n = len(points)
    require_square_memory(n)
    C = np.array(made(kernel)(points / length_scale), dtype=np.float64)
    if C.shape != (n, n) or not np.isfinite(C).all():
        raise ValueError(
            f"kernel must give a finite number for every pair of rows, a matrix of shape {(n, n)}; {kernel!r} gives "
            f"an array of shape {C.shape}{'' if np.isfinite(C).all() else ' that is not finite'}."
        )
    C *= variance
    if groups is not None:
        C[groups[:, None] != groups] = 0.0
    total = np.diagonal(C) + nugget
    if (total <= 0.0).any():
        i = int(np.argmin(total))
        raise ValueError(
            f"nugget must be positive where the kernel has no variance: {kernel!r} gives {total[i]:g} in row {i} with "
            f"nugget {nugget:g}."
        )
    scale = np.sqrt(total)
    C /= scale
    C /= scale[:, None]
    np.fill_diagonal(C, 1.0)
    return np.clip(C, -1.0, 1.0, out=C)


def share_of_noise(kernel: Any, points: FloatArray, length_scale: float, variance: float, nugget: float) -> FloatArray:
    r"""Return the share of :math:`\epsilon_i` in the variance of every row, :math:`\nu/(\sigma^2 k_{ii} + \nu)`."""
    own = variance * np.asarray(made(kernel).diag(points / length_scale), dtype=np.float64)
    return np.asarray(nugget / (own + nugget))


def cross_correlation(
    kernel: Any, new: FloatArray, old: FloatArray, length_scale: float, variance: float, nugget: float
) -> FloatArray:
    """Return the correlations of new rows with fitted ones, which share no noise."""
    built = made(kernel)
    C = variance * np.array(built(new / length_scale, old / length_scale), dtype=np.float64)
    own = [np.sqrt(variance * built.diag(points / length_scale) + nugget) for points in (new, old)]
    return np.clip(C / own[0][:, None] / own[1], -1.0, 1.0)


def describe_kernel(kernel: Any) -> dict[str, Any]:
    """Return a kernel of scikit-learn as plain values that fit into JSON: its class and its parameters."""
    parameters = kernel.get_params(deep=False)
    return {"class": f"{_HOME}.{type(kernel).__name__}"} | {k: _plain(v) for k, v in parameters.items()}


def describes_kernel(description: dict[str, Any]) -> bool:
    """Return whether `describe_kernel` has made this."""
    return str(description["class"]).startswith(f"{_HOME}.")


def restore_kernel(description: dict[str, Any]) -> Any:
    """Return the kernel that `describe_kernel` has described; only scikit-learn's own classes are ever made."""
    from sklearn.gaussian_process import kernels

    name = str(description["class"]).removeprefix(f"{_HOME}.")
    cls = getattr(kernels, name, None)
    if not (isinstance(cls, type) and issubclass(cls, kernels.Kernel) and cls.__module__ == _HOME):
        raise ValueError(f"{name} is not a kernel of {_HOME}; rebuild the prior with the kernel of yours instead.")
    parameters = {key: _restored(value) for key, value in description.items() if key != "class"}
    if parameters.get("metric") == _FUNCTION:
        raise ValueError(f"{name} has a function of yours as its metric, which a description does not hold.")
    return cls(**parameters)


_FUNCTION = "a function"


def made(kernel: Any) -> Any:
    """Return a kernel of scikit-learn, by its name or as it is."""
    if not isinstance(kernel, str):
        return kernel
    from sklearn.gaussian_process import kernels

    name, parameters = _NAMED[kernel]
    return getattr(kernels, name)(**parameters)


def _plain(value: Any) -> Any:
    if is_kernel(value):
        return describe_kernel(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if callable(value):
        return _FUNCTION
    return value.item() if hasattr(value, "item") else value


def _restored(value: Any) -> Any:
    """Return a parameter; lists come back as arrays, which scikit-learn takes to equal lists, tuples and arrays."""
    if isinstance(value, dict) and "class" in value:
        return restore_kernel(value)
    if isinstance(value, list):
        return [_restored(item) for item in value] if value and isinstance(value[0], dict) else np.array(value)
    return value
