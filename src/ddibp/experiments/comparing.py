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


def roots(found: Iterable[Mapping[str, Any]], what: str = "squared error", **only: Any) -> list[float]:
    """Return root mean squared errors, one for every index."""
    return [float(np.sqrt(value)) for value in values(found, what, **only).values()]


def label(name: str, beta: float | None = None) -> str:
    """Return the name of a method in a table."""
    return name if beta is None else f"{name}, β = {beta:g}"


def by_pattern(
    found: Sequence[Mapping[str, Any]], methods: Iterable[str], key: str, patterns: Iterable[Any]
) -> list[dict[str, Any]]:
    """Return a row per method: its root mean squared error under every pattern, and what its intervals hold."""
    rows = []
    patterns = list(patterns)
    for name in methods:
        row: dict[str, Any] = {"method": name}
        for pattern in patterns:
            errors = roots(found, method=name, **{key: pattern})
            row[str(pattern)] = shown(errors) if errors else "not run"
        held = {pattern: values(found, "coverage", method=name, **{key: pattern}).values() for pattern in patterns}
        if any(held.values()):
            row["90 % intervals hold"] = " / ".join(
                f"{100 * np.mean(list(x)):.0f} %" if x else "–" for x in held.values()
            )
        seconds = [
            value for pattern in patterns for value in values(found, "seconds", method=name, **{key: pattern}).values()
        ]
        row["CPU s"] = float(np.mean(seconds)) if seconds else ""
        rows.append(row)
    return rows


def leaders(
    found: Sequence[Mapping[str, Any]], key: str, pattern: Any, ours: Sequence[str], others: Sequence[str]
) -> str:
    """Say which prior and which other method are best, and by how much they differ on the same holes."""

    def best(names: Sequence[str]) -> str:
        errors = {name: roots(found, method=name, **{key: pattern}) for name in names}
        return min((name for name in names if errors[name]), key=lambda name: float(np.mean(errors[name])))

    one, other = best(ours), best(others)
    mean, error = gain(
        [{**row, "root": np.sqrt(row["squared error"])} for row in found if "squared error" in row],
        "root",
        {"method": one, key: pattern},
        {"method": other, key: pattern},
    )
    figures = [float(np.mean(roots(found, method=name, **{key: pattern}))) for name in (one, other)]
    text = f"{pattern}: {one} ({figures[0]:.3f}) against {other} ({figures[1]:.3f}), {mean:+.3f}"
    if np.isnan(error):
        return text
    verdict = "no clear difference" if abs(mean) <= 2.0 * error else "features lose" if mean > 0.0 else "features win"
    return f"{text} ± {error:.3f}: {verdict}"
