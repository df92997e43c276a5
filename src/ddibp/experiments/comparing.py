"""Lists of attempts to fill holes, and what came out of them, for tables and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ddibp.experiments.study import mean_and_error


def tasks(study: Any, methods: Iterable[tuple[str, float | None]], cases: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return the tasks of all methods, each a name and a beta, on all cases: table, index, pattern, repeat, effort.

    Effort is a pair: iterations before the first draw, and draws.
    """
    return [
        {
            "table": table,
            "index": index,
            "pattern": pattern,
            "method": name,
            "beta": beta,
            "seed": int(study.stream(table, index, pattern, repeat).generate_state(1)[0]),
            "tune": tune,
            "draws": draws,
        }
        for table, index, pattern, repeat, (tune, draws) in cases
        for name, beta in methods
    ]


def values(found: Iterable[Mapping[str, Any]], what: str, **only: Any) -> dict[int, float]:
    """Return a number of the attempts that match, averaged over the repeats of every index."""
    kept: dict[int, list[float]] = {}
    for row in found:
        if what in row and all(row[key] == wanted for key, wanted in only.items()):
            kept.setdefault(row["index"], []).append(row[what])
    return {index: float(np.mean(numbers)) for index, numbers in kept.items()}


def gain(found: Sequence[Mapping[str, Any]], what: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Any:
    """Return the mean and the standard error of the difference of two methods, over the indices that both have."""
    a, b = values(found, what, **one), values(found, what, **other)
    return mean_and_error([a[index] - b[index] for index in sorted(a.keys() & b.keys())])


def shown(numbers: Iterable[float], digits: int = 3) -> str:
    """Return the mean with its standard error, as text; a number alone without."""
    mean, error = mean_and_error(numbers)
    return f"{mean:.{digits}f}" if np.isnan(error) else f"{mean:.{digits}f} ± {error:.{digits}f}"
