r"""EEG with two of 32 channels missing at ten times: the error of what is filled in, against the decay :math:`\beta`.

The paper's recording cannot be had. Instead: pieces of 3 seconds of the tutorial data of EEGLAB (visual selective
attention), 96 times by 32 channels after averaging to 32 Hz, every channel standardised; so the figures here can be
compared with each other, not with the paper's. The protocol is the paper's: in each of ten rows two channels are
removed at random, and the reconstruction by the most probable draw (MAP) is judged by its squared error. It is repeated
over pieces and removals; the posterior mean stands beside the MAP, and methods without features beside those with.

Distances are in seconds and sequential; :math:`\beta` is the rate of the exponential decay per second, the length scale
of the dIBP is :math:`1/\beta`. Masses, concentrations, noise and the scale of weights are learned under every prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ddibp.experiments import comparing, fillers, holes
from ddibp.experiments.study import mean_and_error

if TYPE_CHECKING:
    from ddibp.experiments.study import Study

TITLE = "EEG reconstruction"
PATTERN = "10 rows x 2"
BETAS = (0.0, 1.0, 5.0, 25.0)
MIDDLE = 5.0
EFFORT = 50, 70
LONG = 300, 500
SLOW = ("dHBP, dish", "dIBP", "AIBD")
COLORS = {
    "dd-IBP": "#4477aa",
    "dHBP": "#ee6677",
    "dHBP, dish": "#aa3377",
    "dIBP": "#228833",
    "AIBD": "#ccbb44",
    "IBP": "#444444",
}


def run(study: Study) -> None:
    """Fit, draw the curves, tabulate all methods, and look for what limits the features."""
    pieces, repeats = (2, 1) if study.quick else (10, 2)
    betas = (0.0, MIDDLE) if study.quick else BETAS
    effort = (10, 10) if study.quick else EFFORT
    cases = [("EEG", piece, PATTERN, repeat, effort) for piece in range(pieces) for repeat in range(repeats)]
    few = [case for case in cases if case[1] % 2 == 0 and case[3] == 0]
    quick_others = ("column mean", "linear interpolation", "Bayesian ridge, with t")
    others = [name for name in fillers.others() if not study.quick or name in quick_others]
    slow_others = [name for name in others if name in ("extra trees, with t", "MEFISTO (mofapy2)")]

    known = [("dd-IBP", beta) for beta in betas] + [("IBP", None), ("dHBP", None), ("dd-IBP", None)]
    tasks = comparing.tasks(study, known, cases)
    tasks += comparing.tasks(study, [("dHBP", beta) for beta in betas if beta > 0.0], cases)
    tasks += comparing.tasks(study, [(name, None) for name in others if name not in slow_others], cases)
    tasks += comparing.tasks(study, [(name, None) for name in slow_others], few)
    slow = [(name, beta) for name in SLOW for beta in betas[1:]]
    tasks += comparing.tasks(study, slow if not study.quick else slow[:1], few)
    long = [] if study.quick else [(*case[:4], LONG) for case in few[:2]]
    tasks += comparing.tasks(study, [("dd-IBP", MIDDLE), ("IBP", None)], long)
    found = study.map(holes.attempt, tasks)
    usual = [row for row in found if row["draws"] == effort[1]]

    study.say(
        f"{len(cases)} removals ({pieces} pieces, {repeats} each); {len(few)} of them for {', '.join(SLOW)} and the "
        f"slowest other methods. {effort[0]} iterations, then {effort[1]} draws, one chain. Errors are means of "
        "squares over the 20 removed entries, in variances of the channel, ± one standard error over pieces."
    )
    curves(study, usual)
    _against_beta(study, usual)
    _all_methods(study, usual, others)
    _what_limits(study, found, effort)


def curves(study: Study, found: Sequence[dict[str, Any]]) -> None:
    """Draw squared errors against beta, by the MAP and by the posterior mean."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    floor = 0.4  # where beta = 0 stands on the logarithmic axis
    for axes, what, title in zip(panels, ("squared error, MAP", "squared error"), ("MAP", "mean"), strict=True):
        for name, color in COLORS.items():
            betas = sorted({row["beta"] for row in found if row["method"] == name and row["beta"] is not None})
            points = [mean_and_error(comparing.values(found, what, method=name, beta=b).values()) for b in betas]
            if name == "IBP":
                mean, error = mean_and_error(comparing.values(found, what, method=name).values())
                axes.axhline(mean, color=color, lw=1.2, ls="--", label=name)
                axes.axhspan(mean - error, mean + error, color=color, alpha=0.12, lw=0)
            elif points:
                places = np.maximum(betas, floor) * (1.0 + 0.03 * list(COLORS).index(name))
                means, errors = np.array(points).T
                axes.errorbar(places, means, errors, color=color, marker="o", ms=4, lw=1.2, capsize=2, label=name)
        axes.set_xscale("log")
        axes.set_xticks([floor, 1, 5, 25], ["0", "1", "5", "25"])
        axes.minorticks_off()
        axes.set(xlabel=r"$\beta$ (per second)", title=f"reconstruction by the {title}")
    panels[0].set_ylabel("squared error")
    figure.legend(*panels[0].get_legend_handles_labels(), fontsize=8, ncols=6, loc="outside lower center")
    caption = "Squared error of removed EEG entries against the decay; bars and band: one standard error over pieces"
    study.figure(figure, "error-against-beta", caption)


def _against_beta(study: Study, found: Sequence[dict[str, Any]]) -> None:
    """Tabulate the curves, and the differences from the IBP on the same removals."""
    rows = []
    for name in COLORS:
        for beta in sorted({row["beta"] for row in found if row["method"] == name and row["beta"] is not None}):
            one = {"method": name, "beta": beta}
            at = {what: comparing.values(found, what, **one) for what in ("squared error, MAP", "squared error")}
            difference, error = comparing.gain(found, "squared error, MAP", one, {"method": "IBP"})
            rows.append(
                {
                    "prior": name,
                    "beta": beta,
                    "MAP": comparing.shown(at["squared error, MAP"].values()),
                    "posterior mean": comparing.shown(at["squared error"].values()),
                    "MAP minus that of the IBP": f"{difference:+.3f} ± {error:.3f}",
                    "features": float(np.mean(list(comparing.values(found, "features", **one).values()))),
                    "pieces": len(at["squared error"]),
                }
            )
    study.table("against-beta", rows)
    best = min((row for row in rows if row["prior"] == "dd-IBP"), key=lambda row: float(row["MAP"].split()[0]))
    mean, error = comparing.gain(
        found, "squared error, MAP", {"method": "dd-IBP", "beta": best["beta"]}, {"method": "IBP"}
    )
    verdict = "below" if mean < -2.0 * error else "above" if mean > 2.0 * error else "not clearly different from"
    study.say(
        f"The paper's claim is that the dd-IBP reconstructs better than the others for a range of β. Here its best β "
        f"(seen with the answers) is {best['beta']:g}, where its MAP error is {verdict} that of the IBP on the same "
        f"removals: {mean:+.3f} ± {error:.3f}."
    )


def _all_methods(study: Study, found: Sequence[dict[str, Any]], others: Sequence[str]) -> None:
    """Tabulate all methods; decays are learned where that is affordable."""
    ours = [("dd-IBP", None), ("IBP", None), ("dHBP", None), *((name, MIDDLE) for name in SLOW)]
    rows: list[dict[str, Any]] = []
    for name, beta in [*ours, *((name, None) for name in others)]:
        one = {"method": name, "beta": beta}
        error = comparing.values(found, "squared error", **one)
        label = name if name in others or name == "IBP" else f"{name}, β {'learned' if beta is None else f'= {beta:g}'}"
        if not error:
            skipped = any(row.get("skipped") for row in found if row["method"] == name)
            rows += [{"method": label, "squared error": "not run"}] if skipped else []
            continue
        best, covered = (comparing.values(found, what, **one) for what in ("squared error, MAP", "coverage"))
        width = comparing.values(found, "width", **one).values()
        rows.append(
            {
                "method": label,
                "squared error": comparing.shown(error.values(), 4),
                "of the MAP": comparing.shown(best.values(), 4) if best else "",
                "90 % intervals hold": comparing.shown(covered.values(), 2) if covered else "",
                "their width (sd)": float(np.mean(list(width))) if covered else "",
                "CPU s": float(np.mean(list(comparing.values(found, "seconds", **one).values()))),
                "pieces": len(error),
            }
        )
    study.say(
        "All methods on the same removals. β is learned from the observed entries where it says so; a method that is "
        "not run has its package missing."
    )
    study.table("methods", rows)


def _what_limits(study: Study, found: Sequence[dict[str, Any]], effort: tuple[int, int]) -> None:
    """Say from the numbers why features lose to the best linear method, where they do."""
    usual = [row for row in found if row["draws"] == effort[1]]
    ours = comparing.values(usual, "squared error", method="dd-IBP", beta=None)
    best = comparing.values(usual, "squared error, MAP", method="dd-IBP", beta=None)
    ridge = comparing.values(usual, "squared error", method="Bayesian ridge, with t")
    noise = [x**2 for x in comparing.values(usual, "noise", method="dd-IBP", beta=None).values()]
    gap, error = mean_and_error([ours[i] - ridge[i] for i in ours])
    text = (
        f"The dd-IBP's squared error is above that of Bayesian ridge regression on the other channels by {gap:.3f} ± "
        f"{error:.3f} ({np.mean(list(ours.values())):.3f} against {np.mean(list(ridge.values())):.3f}). "
    )
    if gap > 2.0 * error:
        floor = float(np.mean(noise))
        text += (
            f"The noise variance that it learns, {floor:.3f}, is what its features leave unexplained of the entries "
        )
        text += "that it has seen. "
        if floor > np.mean(list(ridge.values())):
            text += (
                "That alone exceeds the error of the regression: even with all features of the row known, on/off "
                "features times weights would not do as well. Channels of EEG are nearly linear functions of each "
                "other, with amplitudes that vary continuously, which binary features can only approximate. "
            )
    mean, error = mean_and_error([ours[i] - best[i] for i in ours])
    text += f"Posterior mean instead of MAP changes the error by {mean:+.3f} ± {error:.3f}. "
    if len({row["draws"] for row in found}) > 1:
        for name, beta in (("dd-IBP", MIDDLE), ("IBP", None)):
            long = _of_the_same(found, name, beta, LONG[1])
            short = _of_the_same(found, name, beta, effort[1])
            shared = sorted(long.keys() & short.keys())
            mean, error = mean_and_error([long[key] - short[key] for key in shared])
            text += (
                f"{sum(LONG)} iterations instead of {sum(effort)} change that "
                f"of the {name} by {mean:+.3f} ± {error:.3f} on {len(shared)} removals. "
            )
    study.say(text)


def _of_the_same(found: Sequence[dict[str, Any]], name: str, beta: float | None, draws: int) -> dict[int, float]:
    """Return errors by the seed of what was removed."""
    return {
        row["seed"]: row["squared error"]
        for row in found
        if row["method"] == name and row["beta"] == beta and row["draws"] == draws
    }
