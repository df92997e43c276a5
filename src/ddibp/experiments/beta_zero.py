r"""At :math:`\beta = 0` with sequential distances the dd-IBP is the IBP: whether fits agree.

The laws are equal, and the log joint is the same number for the same features; the chains are not, since the dd-IBP's
move links and the IBP's move features. Posterior means of numbers of features, noise and log joint must agree within
their Monte Carlo errors, and so must what features are good for: the AUC on the Alzheimer's table and the error of
entries removed from a piece of EEG (2 % of them, others in every chain, but the same for both models).

Errors come from effective sample sizes of all chains together, or from the spread of the chains' means where that is
larger. z is the difference over its error: beyond 2 in one of twenty comparisons by chance, if errors are right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ddibp.experiments.study import Study

FloatArray = NDArray[np.float64]

TITLE = "The dd-IBP at β = 0 and the IBP"
CHAINS = 4
ITERATIONS = {"alzheimers": 240, "eeg": 600}
REMOVED = {"alzheimers": 0.0, "eeg": 0.02}
NUMBERS = {
    "n_features": "features",
    "log_joint": "log joint",
    "sigma_x": "noise",
    "sigma_w": "weights",
    "alpha": "mass",
}
PAIR = ("dd-IBP", "IBP")


def run(study: Study) -> None:
    """Fit both models to both data sets and compare."""
    from ddibp.experiments import chains, models

    fits = study.map(
        chains.trace,
        [
            {
                "data": data,
                "model": name,
                "prior": models.prior(name, 0.0),
                "chain": chain,
                "seed": study.stream(data, name, chain),
                "iterations": (n := 40 if study.quick else iterations),
                "tune": n // 4,
                "removed": REMOVED[data],
                "removal": chain,
            }
            for data, iterations in ITERATIONS.items()
            for chain in range(2 if study.quick else CHAINS)
            for name in PAIR
        ],
    )
    rows = [row for data in ITERATIONS for row in _compare(study, data, [fit for fit in fits if fit["data"] == data])]
    study.figure(_figure(fits), "beta-zero", "Numbers of features after the start, all chains of a model together")
    study.table("beta-zero", rows)
    far = [f"{row['number']} ({row['data']})" for row in rows if abs(row["z"]) > 2.0]
    mixed = [f"{row['number']} ({row['data']})" for row in rows if row.get("R-hat", 1.0) > 1.1]
    study.say(
        f"""
        The log probabilities of the best draws of all chains differ between the two priors by {_largest_gap(fits):.1g}
        at most. {len(rows) - len(far)} of {len(rows)} comparisons are within two standard errors
        {f"; beyond are {', '.join(far)}" if far else ""}. R-hat of one of the models is above 1.1 for
        {", ".join(mixed) or "none"}: where chains disagree, errors rest on the few chains and are rough.
        """
    )


def _largest_gap(fits: list[dict[str, Any]]) -> float:
    """Return the largest difference of the log probabilities of a best draw under the two priors, at mass 2."""
    from ddibp import DDIBP, IBP, Exponential
    from ddibp.experiments import chains

    gaps = []
    for fit in fits:
        Z, ages = chains.read(fit["Z"]), chains.table(fit["data"]).covariates
        linked = DDIBP(Exponential(0.0), alpha=2.0, sequential=True).logpmf(Z, ages)
        gaps.append(abs(linked - IBP(2.0).logpmf(Z)))
    return max(gaps)


def _compare(study: Study, data: str, fits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from ddibp.sampling import diagnostics

    own = {name: [fit for fit in fits if fit["model"] == name] for name in PAIR}
    rows = []
    for key, number in NUMBERS.items():
        draws = {name: np.array([fit[f"trace {key}"] for fit in found]) for name, found in own.items()}
        means = {name: (float(x.mean()), error(x)) for name, x in draws.items()}
        rhat = max(diagnostics.rhat(x) for x in draws.values())
        effective = min(diagnostics.ess_bulk(x) for x in draws.values())
        rows.append(_row(data, number, means) | {"R-hat": rhat, "effective draws": effective})
    if data == "eeg":
        found = {name: [fit["error"] for fit in each] for name, each in own.items()}
        gaps = np.subtract(found[PAIR[0]], found[PAIR[1]])  # the same entries are removed
        means = {name: (float(np.mean(x)), float(np.std(x, ddof=1) / len(x) ** 0.5)) for name, x in found.items()}
        row = _row(data, "RMSE of removed entries (z of paired chains)", means)
        rows.append(row | {"z": float(gaps.mean() / (gaps.std(ddof=1) / len(gaps) ** 0.5))})
    else:
        rows.append(_row(data, "AUC, random halves, C = 1e6", _aucs(study, own)))
    return rows


def _aucs(study: Study, own: dict[str, list[dict[str, Any]]]) -> dict[str, tuple[float, float]]:
    """Return AUCs of the best draws with the error between chains: splits are the same for both."""
    from ddibp.experiments import chains, classify

    labels = chains.table("alzheimers").labels
    assert labels is not None
    splits = classify.random_halves(labels, 100, np.random.default_rng(study.stream("splits")))
    found = {}
    for name, fits in own.items():
        inputs = [chains.read(fit["Z"]) for fit in fits]
        values = [classify.aucs(Z @ Z.T, labels, splits, 1e6).mean() for Z in inputs]
        found[name] = float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5)
    return found


def _row(data: str, number: str, means: dict[str, tuple[float, float]]) -> dict[str, Any]:
    (a, ea), (b, eb) = (means[name] for name in PAIR)
    line: dict[str, Any] = {"data": data, "number": number}
    for name in PAIR:
        line |= {name: _written(means[name][0]), f"{name} s.e.": means[name][1]}
    return line | {"difference": a - b, "s.e.": float(np.hypot(ea, eb)), "z": (a - b) / float(np.hypot(ea, eb))}


def _written(value: float) -> float | int:
    return round(value) if abs(value) >= 1000.0 else value


def error(draws: FloatArray) -> float:
    """Return the standard error of the mean of chains: from the effective size, or from their means if larger.

    Examples
    --------
    >>> import numpy as np
    >>> bool(0.02 < error(np.random.default_rng(0).normal(size=(4, 500))) < 0.04)
    True
    """
    from ddibp.sampling import diagnostics

    effective = diagnostics.ess_bulk(draws)
    within = draws.std(ddof=1) / np.sqrt(max(effective, 1.0))
    between = draws.mean(axis=1).std(ddof=1) / np.sqrt(len(draws))
    return float(max(within, between))


def _figure(fits: list[dict[str, Any]]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    for axes, data in zip(figure.subplots(1, len(ITERATIONS)), ITERATIONS, strict=True):
        draws = {
            name: np.concatenate(
                [fit["trace n_features"] for fit in fits if (fit["data"], fit["model"]) == (data, name)]
            )
            for name in PAIR
        }
        both = np.concatenate(list(draws.values()))
        edges = np.arange(both.min(), both.max() + 2) - 0.5
        for (name, x), colour in zip(draws.items(), ("#4477aa", "#ee7733"), strict=True):
            axes.hist(x, edges, density=True, histtype="step", color=colour, label=name, lw=1.4)
        axes.set(title=data, xlabel="number of features")
    figure.axes[0].set_ylabel("share of draws")
    figure.axes[-1].legend(frameon=False)
    return figure
