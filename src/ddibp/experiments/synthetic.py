"""The synthetic table on which packages were compared before: every way to fill holes, with features among them.

200 irregular times in [0, 10] by 20 columns: five latent series times Gaussian weights, and noise of standard deviation
0.5. "binary" series are persistently on or off, as features are; "smooth" ones are Gaussian processes of length scale
1, which binary features can only approximate. 20 % of the entries are missing at random and a block of ten rows by ten
columns in addition. Errors are roots of mean squares over all missing entries (and over the block alone), in the units
of the table: an error of 0.5 is that of the noise, which nothing can beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ddibp.experiments import comparing, fillers, holes

if TYPE_CHECKING:
    from ddibp.experiments.study import Study

TITLE = "Every way to fill holes, on a synthetic table"
PATTERN = "20 % and a block"
EFFORT, LONG, SHORT = (100, 100), (400, 400), (25, 25)
OURS = ("dd-IBP", "IBP", "dHBP", "dHBP, dish", "dIBP", "AIBD")
QUICK = ("column mean", "linear interpolation", "Bayesian ridge, with t")


def run(study: Study) -> None:
    """Fill the holes, tabulate, and say where features lose and why."""
    seeds, effort = (1, (10, 10)) if study.quick else (3, EFFORT)
    kinds = ("binary", "smooth")
    cases = [(kind, seed, PATTERN, 0, effort) for kind in kinds for seed in range(seeds)]
    ours = OURS[:3] if study.quick else OURS
    others = [name for name in fillers.others() if not study.quick or name in QUICK]
    tasks = comparing.tasks(study, [(name, None) for name in (*ours, *others)], cases)
    if not study.quick:
        first = [case[:4] for case in cases if case[1] == 0]
        for other in (SHORT, LONG):
            tasks += comparing.tasks(study, [("dd-IBP", None), ("IBP", None)], [(*case, other) for case in first])
    found = study.map(holes.attempt, tasks)
    usual = [row for row in found if row["draws"] == effort[1]]
    study.say(
        f"{seeds} tables of each kind, with decays, masses and scales learned under every prior; {effort[0]} "
        f"iterations, then {effort[1]} draws, one chain. ± one standard error over tables. Dynamic factors take the "
        "rows as equally spaced. A method that is not run has its package missing."
    )
    rows = []
    for name in (*ours, *others):
        row: dict[str, Any] = {"method": name}
        for kind in kinds:
            errors = comparing.roots(usual, method=name, table=kind)
            if not errors:
                row[kind] = "not run"
                continue
            row[kind] = comparing.shown(errors)
            row[f"{kind}, block"] = comparing.shown(
                comparing.roots(usual, "squared error, block", method=name, table=kind)
            )
            held = comparing.values(usual, "coverage", method=name, table=kind).values()
            row[f"{kind}, 90 % intervals hold"] = comparing.shown(held, 2) if held else ""
            if name in ours:
                row[f"{kind}, features"] = float(
                    np.mean(list(comparing.values(usual, "features", method=name, table=kind).values()))
                )
            row[f"{kind}, CPU s"] = float(
                np.mean(list(comparing.values(usual, "seconds", method=name, table=kind).values()))
            )
        rows.append(row)
    study.table("methods", rows)
    ready = [name for name in others if fillers.others()[name] is not None]
    lines = [comparing.leaders(usual, "table", kind, ours, ready) for kind in kinds]
    study.say("The best prior against the best other method: " + "; ".join(lines) + ".")
    _draw(study, usual, (*ours, *ready), kinds)
    if not study.quick:
        _why(study, found)


def _why(study: Study, found: Sequence[dict[str, Any]]) -> None:
    """Tabulate what longer chains change, and say what the numbers mean."""
    rows = []
    for kind in ("binary", "smooth"):
        for name in ("dd-IBP", "IBP"):
            for tune, draws in (SHORT, EFFORT, LONG):
                (row,) = (
                    row
                    for row in found
                    if (row["table"], row["method"], row["index"], row["draws"]) == (kind, name, 0, draws)
                )
                rows.append(
                    {
                        "table": kind,
                        "prior": name,
                        "iterations": tune + draws,
                        "RMSE": float(np.sqrt(row["squared error"])),
                        "of the MAP": float(np.sqrt(row["squared error, MAP"])),
                        "features": row["features"],
                        "noise sd, in sd of the columns": row["noise"],
                        "90 % intervals hold": row["coverage"],
                    }
                )
    study.say("What longer chains change, on the first table of each kind (five series made it):")
    study.table("longer", rows)
    short, long = (
        [row for row in rows if row["prior"] == "dd-IBP" and row["iterations"] == sum(e)] for e in (EFFORT, LONG)
    )
    parts = [
        f"on the {a['table']} table the error of the dd-IBP goes from {a['RMSE']:.3f} to {b['RMSE']:.3f}, and its "
        f"features from {a['features']:.0f} to {b['features']:.0f}"
        for a, b in zip(short, long, strict=True)
    ]
    study.say(f"From {sum(EFFORT)} to {sum(LONG)} iterations, " + "; ".join(parts) + ".")


def _draw(study: Study, found: Sequence[dict[str, Any]], names: Sequence[str], kinds: Sequence[str]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 3.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, kind in zip(panels, kinds, strict=True):
        for place, name in enumerate(names):
            errors = comparing.roots(found, method=name, table=kind)
            axes.plot(errors, [place] * len(errors), "o", color="#4477aa" if name in OURS else "0.55", ms=4, alpha=0.6)
        axes.axvline(0.5, color="0.3", lw=0.8, ls=":")
        axes.set(title=kind, xlabel="RMSE", xlim=(0.45, 1.05))
        axes.grid(axis="x", lw=0.3)
    panels[0].set_yticks(range(len(names)), names, fontsize=8)
    panels[0].invert_yaxis()
    caption = "Root mean squared errors, a dot a table (column means are out of the picture); dotted: the noise"
    study.figure(figure, "methods", caption)
