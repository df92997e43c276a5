"""Small pictures that need no script: paths of chains, bars, the decay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ddibp.plots._falling import falling, name_of
from ddibp.plots.decays import curves
from ddibp.report.labels import figure
from ddibp.report.model import specification

if TYPE_CHECKING:
    from ddibp.sampling import Posterior

FloatArray = NDArray[np.float64]

_TRACE = (150.0, 26.0)
_TRACE_POINTS = 100
_MOST_CHAINS = 8
_DECAY = (400.0, 170.0)
_MOST_BARS = 40


def traces(x: FloatArray) -> list[str]:
    """Return the paths of the chains of one number, as points of SVG polylines."""
    width, height = _TRACE
    chosen = np.unique(np.linspace(0, x.shape[1] - 1, min(x.shape[1], _TRACE_POINTS)).astype(int))
    shown = x[:_MOST_CHAINS, chosen]
    finite = shown[np.isfinite(shown)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    across = width * chosen / max(x.shape[1] - 1, 1)
    down = (height - 4.0) * (1.0 - (shown - low) / (high - low)) + 2.0 if high > low else 0.0 * shown + height / 2
    return [points(across, path) for path in down]


def points(x: FloatArray, y: FloatArray) -> str:
    """Return SVG coordinates; what is not finite is left out."""
    return " ".join(f"{a:.4g},{b:.4g}" for a, b in zip(x, y, strict=True) if np.isfinite(b))


def bars(law: dict[int, float]) -> list[dict[str, Any]]:
    """Return the law of the number of features as bars, without gaps; wide laws are shown in bins."""
    low, high = min(law), max(law)
    step = -(-(high - low + 1) // _MOST_BARS)
    groups = [
        (first, min(first + step - 1, high), sum(law.get(k, 0.0) for k in range(first, first + step)))
        for first in range(low, high + 1, step)
    ]
    most = max(share for _, _, share in groups)
    return [
        {
            "label": str(first) if first == last else f"{first}–{last}",
            "share": f"{100 * share:.1f} %",
            "height": f"{100 * share / most:.1f}",
        }
        for first, last, share in groups
    ]


def _ticks(end: float) -> list[float]:
    """Return round numbers from 0 to the end."""
    power = 10.0 ** np.floor(np.log10(end / 4.0))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= end / 5.0)
    return [k * step for k in range(int(end / step + 1e-9) + 1)]


def decay(posterior: Posterior, probability: float) -> dict[str, Any] | None:
    """Return the curves of a decay, or of a correlation, with learned parameters; None if there is none."""
    f = falling(specification(posterior, "prior"))
    if not getattr(f, "learned", {}):
        return None
    found = curves(posterior, None, probability)
    width, height = _DECAY
    every = slice(None, None, 3)
    d = found.distances[every]
    across = width * d / d[-1]
    low, median, high, assumed = (
        height * (1.0 - curve[every]) for curve in (found.low, found.median, found.high, found.assumed)
    )
    crossing = np.flatnonzero(found.median <= 0.5 * found.median[0])
    return {
        "width": width,
        "height": height,
        "band": points(np.concatenate([across, across[::-1]]), np.concatenate([low, high[::-1]])),
        "median": points(across, median),
        "assumed": points(across, assumed),
        "ticks": [(f"{width * value / d[-1]:.4g}", figure(value)) for value in _ticks(float(d[-1]))],
        "name": name_of(f),
        "what": "correlation of the Gaussian values of rows" if name_of(f) == "correlation" else "inclination to share",
        "half": figure(found.distances[crossing[0]], 2) if len(crossing) else None,
    }
