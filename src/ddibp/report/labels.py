"""What things are called on the page, and in which units they are shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddibp.plots import _axes, _order

if TYPE_CHECKING:
    from ddibp.sampling import Posterior

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Labels:
    """Names of columns, rows and covariates, and the way back to original units."""

    columns: list[str]
    rows: list[str] | None
    covariates: list[tuple[str, FloatArray]]
    center: FloatArray
    scale: FloatArray

    @classmethod
    def of(
        cls,
        posterior: Posterior,
        column_names: Sequence[str] | None,
        row_names: Sequence[str] | None,
        covariate_names: Sequence[str] | None,
        center: ArrayLike | None,
        scale: ArrayLike | None,
    ) -> Self:
        """Check what a user has given."""
        n, M = posterior.observed.shape
        columns = _axes.check_names("column_names", column_names, M, "column ")
        rows = None if row_names is None else _axes.check_names("row_names", row_names, n, "")
        values = _order.covariate_columns(posterior)
        d = 0 if values is None else values.shape[1]
        default = "covariate" if d == 1 else "covariate "
        names = _axes.check_names("covariate_names", covariate_names, d, default)
        names = ["covariate"] if d == 1 and covariate_names is None else names
        covariates = [] if values is None else list(zip(names, values.T, strict=True))
        units = [_numbers("center", center, M, 0.0), _numbers("scale", scale, M, 1.0)]
        if not (units[1] > 0.0).all():
            raise ValueError(f"scale must be positive, got {units[1][~(units[1] > 0.0)][0]:g}.")
        return cls(columns, rows, covariates, *units)


def _numbers(argument: str, value: ArrayLike | None, length: int, default: float) -> FloatArray:
    if value is None:
        return np.full(length, default)
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.shape not in ((), (length,)) or not np.isfinite(numbers).all():
        raise ValueError(f"{argument} must be {length} finite numbers, one per column, got shape {numbers.shape}.")
    return np.broadcast_to(numbers, length)


def figure(x: Any, digits: int = 3) -> str:
    """Return a number with some significant digits, as a reader wants to see it.

    Examples
    --------
    >>> figure(1234.5), figure(0.012345), figure(float("nan")), figure(-2.0), figure(2.5e-7)
    ('1,234', '0.0123', '–', '−2', '2.5e−07')
    """
    x = float(x)
    if math.isnan(x):
        return "–"
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    if x and not 1e-4 <= abs(x) < 1e9:
        text = f"{x:.{digits}g}"
    elif abs(x) >= 10 ** (digits - 1):
        text = f"{x:,.0f}"
    else:
        text = f"{x:.{digits}g}"
    return text.replace("-", "−")


def brief(values: Any, digits: int = 5) -> list[float]:
    """Return numbers that take little room in JSON."""
    return [float(f"{v:.{digits}g}") for v in np.ravel(values)]
