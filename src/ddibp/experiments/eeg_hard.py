"""EEG with harder holes than the paper's: scattered, in stretches, whole rows; with intervals that must hold.

The same pieces of EEG as in the experiment ``eeg`` (a stand-in for the paper's recording, which cannot be had). Errors
are roots of mean squares over the removed entries, in standard deviations of the channel: 1 is what the channel's mean
achieves on average. Decays, masses and scales are learned under every prior; imputations are posterior means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ddibp.experiments import comparing, fillers, holes

if TYPE_CHECKING:
    from ddibp.experiments.study import Study

TITLE = "EEG with harder holes"
PATTERNS = ("10 % at random", "30 % at random", "a stretch of a channel", "whole rows")
EFFORT = 50, 70
OURS, SLOW = ("dd-IBP", "IBP", "dHBP"), ("dHBP, dish", "dIBP", "AIBD", "extra trees, with t", "MEFISTO (mofapy2)")


def run(study: Study) -> None:
    """Fill, tabulate and draw."""
    pieces, effort = (1, (10, 10)) if study.quick else (3, EFFORT)
    patterns = PATTERNS[1:3] if study.quick else PATTERNS
    cases = [("EEG", 10 + piece, pattern, 0, effort) for pattern in patterns for piece in range(pieces)]
    others = list(fillers.others())
    if study.quick:
        others = ["column mean", "linear interpolation", "Gaussian process a column"]
    fast = [(name, None) for name in (*OURS, *others) if name not in SLOW]
    tasks = comparing.tasks(study, fast, cases)
    slow = [name for name in SLOW if name in others or (name not in fillers.others() and not study.quick)]
    tasks += comparing.tasks(study, [(name, None) for name in slow], [case for case in cases if case[1] < 11])
    found = study.map(holes.attempt, tasks)
    names = [*OURS, *(name for name in SLOW[:3] if name in slow), *others]
    study.say(
        f"{pieces} pieces for every pattern, other ones than in `eeg` (one for {', '.join(slow) or 'slow methods'}); "
        f"{effort[0]} iterations, then {effort[1]} draws, one chain. ± one standard error over pieces. Whether 90 % "
        "intervals hold is listed pattern by pattern; methods without intervals have no entry."
    )
    rows = comparing.by_pattern(found, names, "pattern", patterns)
    study.table("patterns", rows)
    _draw(study, found, [name for name in names if name not in slow], patterns)
    lines = [comparing.leaders(found, "pattern", pattern, OURS, fast_names(others)) for pattern in patterns]
    study.say("The best prior against the best other method of those on all pieces: " + "; ".join(lines) + ".")
    _what_distances_do(study, found, patterns)


def fast_names(others: Sequence[str]) -> list[str]:
    """Return the other methods that all pieces have."""
    return [name for name in others if name not in SLOW and fillers.others()[name] is not None]


def _what_distances_do(study: Study, found: Sequence[dict[str, Any]], patterns: Sequence[str]) -> None:
    """Say where knowing the time helps features: where a row has nothing else to go by."""
    parts = []
    for pattern in patterns:
        mean, error = comparing.gain(
            found,
            "squared error",
            {"method": "dd-IBP", "pattern": pattern},
            {"method": "IBP", "pattern": pattern},
        )
        parts.append(f"{pattern} {mean:+.3f} ± {error:.3f}")
    study.say("Squared error of the dd-IBP minus that of the IBP on the same holes: " + "; ".join(parts) + ".")


def _draw(study: Study, found: Sequence[dict[str, Any]], names: Sequence[str], patterns: Sequence[str]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(patterns), sharey=True))
    for axes, pattern in zip(panels, patterns, strict=True):
        for place, name in enumerate(names):
            errors = comparing.roots(found, method=name, pattern=pattern)
            color = "#4477aa" if name in (*OURS, *SLOW[:3]) else "0.55"
            axes.plot(errors, [place] * len(errors), "o", color=color, ms=4, alpha=0.5)
            if errors:
                axes.plot([np.mean(errors)], [place], "|", color="black", ms=12)
        axes.set_title(pattern, fontsize=9)
        axes.set(xlabel="RMSE (sd)", xlim=(0.0, None))
        axes.grid(axis="x", lw=0.3)
    panels[0].set_yticks(range(len(names)), names, fontsize=8)
    panels[0].invert_yaxis()
    study.figure(figure, "patterns", "Root mean squared errors, a dot a piece; bars: means; blue: priors of features")
