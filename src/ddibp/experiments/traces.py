r"""Log joint of the dd-IBP and the dHBP on the Alzheimer's table, several chains from different starts.

Chains begin without features ("empty") or with a draw of the prior ("prior"), and run with the default moves; the decay
has :math:`\beta = 0.1`, all else is learned. A chain has reached its plateau at the first iteration from which the mean
of the last 50 iterations stays within two standard deviations of the mean of the chain's second half. Chains that
agree in that may still sit in different explanations of the data: R-hat of the second halves says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ddibp.experiments.study import Study

FloatArray = NDArray[np.float64]

TITLE = "Traces of the log joint"
MODELS = ("dd-IBP", "dHBP")
BETA, ITERATIONS, WINDOW = 0.1, 300, 50
STARTS = ("empty", "prior") * 2
_COLOURS = {"empty": "#4477aa", "prior": "#ee7733"}


def run(study: Study) -> None:
    """Draw the traces and tabulate where they are level."""
    from matplotlib.figure import Figure

    from ddibp.experiments import chains, models
    from ddibp.sampling import diagnostics

    ages = chains.table("alzheimers").covariates
    fits = study.map(
        chains.trace,
        [
            {
                "data": "alzheimers",
                "model": name,
                "prior": models.prior(name, BETA, ages),
                "start": start,
                "chain": chain,
                "seed": study.stream(name, chain),
                "iterations": 60 if study.quick else ITERATIONS,
            }
            for chain, start in enumerate(STARTS[:2] if study.quick else STARTS)
            for name in MODELS
        ],
    )
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    rows: list[dict[str, Any]] = []
    everything = np.concatenate([np.array(fit["trace log_joint"]) for fit in fits])
    for axes, name in zip(figure.subplots(1, len(MODELS), sharey=True), MODELS, strict=True):
        own = [fit for fit in fits if fit["model"] == name]
        traces = np.array([fit["trace log_joint"] for fit in own])
        for fit, x in zip(own, traces, strict=True):
            axes.plot(np.arange(1, len(x) + 1), x, lw=0.8, color=_COLOURS[fit["start"]], alpha=0.8, label=fit["start"])
            rows.append({"model": name, "chain": fit["chain"] + 1, **summary(fit, x)})
        axes.set(title=name, xlabel="iteration", xscale="log")
        axes.set_ylim(np.quantile(everything, 0.02) - 50.0, everything.max() + 50.0)
        halves = traces[:, traces.shape[1] // 2 :]
        rows.append(
            {
                "model": name,
                "chain": "all",
                "log joint, second half": round(float(halves.mean())),
                "sd": float(halves.std(ddof=1)),
                "R-hat": diagnostics.rhat(halves),
                "effective draws": diagnostics.ess_bulk(halves),
            }
        )
    figure.axes[0].set_ylabel("log joint")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    starts = dict(zip(labels, handles, strict=True))
    figure.axes[0].legend(list(starts.values()), list(starts), title="start", frameon=False)
    study.figure(figure, "traces", "Log joint of features, scales and mass; weights summed out. Logarithmic iterations")
    study.table("traces", rows)
    _discuss(study, rows)


def summary(fit: dict[str, Any], trace: FloatArray) -> dict[str, Any]:
    """Return where a trace is level, and where it is then."""
    half = trace[len(trace) // 2 :]
    return {
        "start": fit["start"],
        "plateau from iteration": plateau(trace),
        "CPU seconds": fit["cpu_seconds"],
        "log joint, second half": round(float(half.mean())),
        "sd": float(half.std(ddof=1)),
        "features, second half": float(np.mean(fit["trace n_features"][len(trace) // 2 :])),
    }


def plateau(trace: FloatArray, window: int = WINDOW) -> int:
    """Return the first iteration (from 1) from which the running mean stays near the mean of the second half.

    The running mean is that of the last ``window`` iterations (of all, where there are fewer); near is within two
    standard deviations of the second half.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(size=1000)
    >>> plateau(np.where(np.arange(1000) < 100, -50.0, 0.0) + noise)
    149
    """
    half = trace[len(trace) // 2 :]
    sums = np.cumsum(np.r_[0.0, trace])
    ends = np.arange(1, len(trace) + 1)
    begins = np.maximum(ends - window, 0)
    means = (sums[ends] - sums[begins]) / (ends - begins)
    far = np.flatnonzero(np.abs(means - half.mean()) > 2.0 * half.std(ddof=1))
    return int(far[-1]) + 2 if far.size else 1


def _discuss(study: Study, rows: list[dict[str, Any]]) -> None:
    parts = []
    for name in MODELS:
        own = [row for row in rows if row["model"] == name and row["chain"] != "all"]
        total = next(row for row in rows if row["model"] == name and row["chain"] == "all")
        ends = [row["log joint, second half"] for row in own]
        parts.append(
            f"{name}: the plateau begins between iterations {min(row['plateau from iteration'] for row in own)} and "
            f"{max(row['plateau from iteration'] for row in own)}; chains' means differ by {np.ptp(ends):.0f} within "
            f"standard deviations of {np.mean([row['sd'] for row in own]):.0f}, R-hat {total['R-hat']:.2f}."
        )
    study.say("\n".join(f"- {part}" for part in parts))
    rhats = [row["R-hat"] for row in rows if row["chain"] == "all"]
    study.say(
        f"""
        Being level is not the same as having converged: {
            "R-hat is above 1.05, so that" if max(rhats) > 1.05 else "R-hat is below 1.05 here, though"
        } chains of this length
        {"have not all" if max(rhats) > 1.05 else "seem to have"} come to the same place. A log joint of one model
        cannot be compared with that of the other as evidence, because they are densities over different spaces.
        """
    )
