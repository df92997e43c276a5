r"""Alzheimer's disease against normal ageing, from features of brain regions: the paper's classification.

The table is the paper's: 62 scans (27 AD, 35 controls), 224 measures, ages 60 to 90. Columns are standardised, rows are
sorted by age, distances are sequential differences of age, the decay is :math:`e^{-\beta d}`. Features are learned from
all rows without the diagnosis; the best draw of a chain (a restart) goes into a logistic regression with an L2 penalty,
fitted to one half of the rows and judged by its AUC on the other half.

The paper's "regularisation constant 1e-6" is read as the penalty: the sum of losses plus
:math:`10^{-6}\,\|w\|^2/2`, C = 1e6 in scikit-learn. The usual C = 1 stands beside it. Splits come in two kinds.
*Random halves* hold half of each class, as in the paper. But rows that follow each other look like repeated scans of
the same person, 20 apparent people in all; random halves put scans of one person on both sides. *People apart* keeps
all scans of an apparent person on one side, each class as nearly halved as that allows.

Masses, scales and concentrations are learned. Features of the best draw ("MAP"), their probabilities over draws
("soft") and the posterior mean of ZW ("E[ZW]") are judged in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ddibp.experiments.chains import Table
    from ddibp.experiments.study import Study

FloatArray = NDArray[np.float64]
Judged = dict[tuple[str, float], FloatArray]  # kind of split and C: AUC by restart and split

TITLE = "Alzheimer's disease from brain regions: AUC"
BETAS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0)
BETAS_OF_OTHERS = (0.1, 1.0)
RESTARTS, ITERATIONS, THIN = 5, 200, 5
SPLITS = 100
RANDOM, APART = "random halves", "people apart"
PAPER_C, USUAL_C = 1e6, 1.0
MAP, SOFT, EXPLAINED = "MAP", "soft", "E[ZW]"
NEIGHBOURS = "age by neighbours"


def run(study: Study) -> None:
    """Fit all models, classify by their features, and compare."""
    from ddibp.experiments import chains

    table = chains.table("alzheimers")
    fits = _by_model(study.map(chains.features, tasks(study)))
    splits = _splits(study, table)
    judged = {
        (label, kind): _judge([_gram(fit, kind) for fit in found], table, splits)
        for label, found in fits.items()
        for kind in (MAP, SOFT, EXPLAINED)
    }
    others = _baselines(table, fits)
    judged |= {(label, MAP): _judge([gram], table, splits) for label, (_, gram) in others.items()}

    _describe(study, table, splits, fits)
    features = {label: f"{np.median([len(fit['Z'][0]) for fit in found]):g}" for label, found in fits.items()}
    features |= {label: size for label, (size, _) in others.items()}
    study.table("auc", [_line(label, features[label], judged[label, MAP]) for label in features], shown=_SHOWN)
    study.figure(_figure(judged, study.quick), "auc", _CAPTION)
    study.say("Features of the best draw beside their probabilities over draws and the posterior mean of ZW, C = 1e6:")
    study.table("soft", [_soft_line(label, judged) for label in fits], shown=_SOFT_SHOWN)
    study.say("What the features hold beside the diagnosis:")
    study.table("features", [_of_features(label, found, table) for label, found in fits.items()])
    _discuss(study, judged, fits)


def tasks(study: Study) -> list[dict[str, Any]]:
    """Return the fits, restart by restart, so that an interrupted run has whole restarts."""
    from ddibp.experiments import chains, models

    ages = chains.table("alzheimers").covariates
    chosen: list[tuple[str, float | None]] = [("dd-IBP", beta) for beta in BETAS]
    chosen += [(name, None) for name in models.WITHOUT_BETA]
    chosen += [(name, beta) for name in ("dHBP", "dHBP, dish", "dIBP", "AIBD") for beta in BETAS_OF_OTHERS]
    restarts, iterations = RESTARTS, ITERATIONS
    if study.quick:
        chosen, restarts, iterations = [("dd-IBP", 0.0), ("dd-IBP", 1.0), ("IBP", None)], 2, 20
    return [
        {
            "data": "alzheimers",
            "model": name,
            "beta": beta,
            "prior": models.prior(name, beta, ages),
            "restart": restart,
            "seed": study.stream(name, beta, restart),
            "iterations": iterations,
            "tune": iterations // 2,
            "thin": THIN,
        }
        for restart in range(restarts)
        for name, beta in chosen
    ]


def _by_model(fits: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return fits by model and beta."""
    found: dict[str, list[dict[str, Any]]] = {}
    for fit in fits:
        found.setdefault(_label(fit["model"], fit["beta"]), []).append(fit)
    return found


def _label(model: str, beta: float | None) -> str:
    return model if beta is None else f"{model}, β = {beta:g}"


def _splits(study: Study, table: Table) -> dict[str, NDArray[np.bool_]]:
    from ddibp.experiments import classify

    assert table.labels is not None
    assert table.people is not None
    n, rng = (10 if study.quick else SPLITS), np.random.default_rng(study.stream("splits"))
    return {
        RANDOM: classify.random_halves(table.labels, n, rng),
        APART: classify.halves_of_people(table.labels, table.people, n, rng),
    }


def _gram(fit: dict[str, Any], kind: str) -> FloatArray:
    """Return the inner products of rows in what a fit found."""
    from ddibp.experiments import chains

    inputs = chains.read(fit["Z"]) if kind == MAP else np.array(fit["probabilities" if kind == SOFT else "explained"])
    return np.asarray(inputs @ inputs.T)


def _judge(grams: list[FloatArray], table: Table, splits: dict[str, NDArray[np.bool_]]) -> Judged:
    from ddibp.experiments import classify

    assert table.labels is not None
    return {
        (name, C): np.array([classify.aucs(gram, table.labels, split, C) for gram in grams])
        for name, split in splits.items()
        for C in (PAPER_C, USUAL_C)
    }


def _baselines(table: Table, fits: dict[str, list[dict[str, Any]]]) -> dict[str, tuple[str, FloatArray]]:
    """Return what needs no chains: a name, the number of inputs, and the inner products of rows."""
    from sklearn.decomposition import PCA, FactorAnalysis

    X, ages = table.X, table.covariates
    age = ((ages - ages.mean()) / ages.std())[:, None]
    ddibp = [len(fit["Z"][0]) for label, found in fits.items() if label.startswith("dd-IBP") for fit in found]
    inputs = {"raw": X, "raw + age": np.column_stack([X, age]), "age": age}
    for size in sorted({min(int(np.median(ddibp)), len(X) - 1), 10}):
        inputs[f"PCA, {size}"] = PCA(size, random_state=0).fit_transform(X)
        inputs[f"factor analysis, {size}"] = FactorAnalysis(size, random_state=0).fit_transform(X)
    found = {name: (str(x.shape[1]), np.asarray(x @ x.T)) for name, x in inputs.items()}
    found[NEIGHBOURS] = "kernel", np.exp(-np.abs(ages[:, None] - ages[None, :]))
    return found


# -- tables ------------------------------------------------------------------------------------------------------------

_SHOWN = ["inputs", "features", *(f"{name}{end}" for name in (RANDOM, APART) for end in ("", " s.e.", ", C = 1"))]
_SOFT_SHOWN = ["model", *(f"{k}, {name}" for k in (MAP, SOFT, EXPLAINED) for name in (RANDOM, APART))]
_CAPTION = (
    "AUC against β, averaged over restarts and splits, with standard errors; features of the best draw, C = 1e6. "
    "Squares and the like are other models at the same β, lines what has no β"
)


def _line(label: str, features: str, judged: Judged) -> dict[str, Any]:
    from ddibp.experiments import classify

    line: dict[str, Any] = {"inputs": label, "features": features}
    for name in (RANDOM, APART):
        for C, end in ((PAPER_C, ""), (USUAL_C, ", C = 1")):
            values = judged[name, C]
            line[f"{name}{end}"], line[f"{name}{end} s.e."] = classify.mean_with_error(values)
            line[f"{name}{end} sd between splits"] = float(values.mean(axis=0).std(ddof=1))
    return line


def _soft_line(label: str, judged: dict[tuple[str, str], Judged]) -> dict[str, Any]:
    from ddibp.experiments import classify

    line: dict[str, Any] = {"model": label}
    for kind in (MAP, SOFT, EXPLAINED):
        for name in (RANDOM, APART):
            for C, end in ((PAPER_C, ""), (USUAL_C, ", C = 1")):
                mean, error = classify.mean_with_error(judged[label, kind][name, C])
                line[f"{kind}, {name}{end}"], line[f"{kind}, {name}{end} s.e."] = mean, error
    return line


def _of_features(label: str, found: list[dict[str, Any]], table: Table) -> dict[str, Any]:
    """Return parameters, and how alike the features of rows are: of one apparent person, of others of like age."""
    assert table.people is not None
    same = table.people[:, None] == table.people[None, :]
    near = np.abs(table.covariates[:, None] - table.covariates[None, :]) <= 3.0
    apart = ~np.eye(len(same), dtype=bool)
    alike = np.mean([_cosine(_gram(fit, MAP)) for fit in found], axis=0)
    line = {
        "model": label,
        "features": float(np.mean([fit["mean n_features"] for fit in found])),
        "noise": float(np.mean([fit["mean sigma_x"] for fit in found])),
        "best log joint": round(np.mean([fit["log_joint"] for fit in found])),
        "cosine, one person": float(alike[same & apart].mean()),
        "cosine, others within 3 years": float(alike[~same & near].mean()),
        "cosine, others": float(alike[~same & ~near].mean()),
    }
    learned = {key: [fit[f"mean {key}"] for fit in found if f"mean {key}" in fit] for key in ("beta", "length_scale")}
    return line | {"learned": "; ".join(f"{key} = {np.mean(x):.2g}" for key, x in learned.items() if x)}


def _cosine(gram: FloatArray) -> FloatArray:
    size = np.sqrt(np.maximum(np.diagonal(gram), 1e-12))
    return gram / size[:, None] / size[None, :]


# -- the picture -------------------------------------------------------------------------------------------------------


def _figure(judged: dict[tuple[str, str], Judged], quick: bool) -> Any:
    """Draw AUC against beta, a panel for each kind of split."""
    from matplotlib.figure import Figure

    from ddibp.experiments import classify

    betas = (0.0, 1.0) if quick else BETAS
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, name in zip(panels, (RANDOM, APART), strict=True):

        def at(label: str, name: str = name) -> tuple[float, float] | None:
            found = judged.get((label, MAP))
            return None if found is None else classify.mean_with_error(found[name, PAPER_C])

        points = [at(_label("dd-IBP", beta)) for beta in betas]
        axes.errorbar(
            range(len(betas)), *zip(*[p for p in points if p], strict=True), fmt="o-", color="#4477aa", label="dd-IBP"
        )
        for i, (model, mark) in enumerate({"dHBP": "s", "dHBP, dish": "D", "dIBP": "^", "AIBD": "v"}.items()):
            shown = [(x + 0.08 * (i + 1), at(_label(model, beta))) for x, beta in enumerate(betas)]
            xs = [x for x, p in shown if p]
            if xs:
                ys, errors = zip(*[p for _, p in shown if p], strict=True)
                axes.errorbar(xs, ys, errors, fmt=mark, color=_COLOURS[i], ms=5, lw=1, label=model)
        lines = {"IBP": "-", "dd-IBP, learned": "--", "raw": ":", NEIGHBOURS: "-."}
        for (label, style), colour in zip(lines.items(), ("black", "#4477aa", "0.5", "#cc3311"), strict=True):
            if p := at(label):
                axes.axhline(p[0], ls=style, color=colour, lw=1.2, label=label)
        axes.axhline(0.5, color="0.85", lw=0.8, zorder=0)
        axes.set(title=name, xlabel="β of the decay (per year)", xticks=range(len(betas)))
        axes.set_xticklabels([f"{beta:g}" for beta in betas])
    panels[0].set_ylabel("AUC")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", fontsize=8, frameon=False)
    return figure


_COLOURS = ("#ee7733", "#aa3377", "#228833", "#ccbb44")


# -- what it comes to --------------------------------------------------------------------------------------------------


def _describe(study: Study, table: Table, splits: dict[str, NDArray[np.bool_]], fits: dict[str, Any]) -> None:
    assert table.people is not None
    any_fit = next(iter(fits.values()))
    study.say(
        f"""
        {len(any_fit)} restarts of {any_fit[0]["iterations"]} iterations, of which every {any_fit[0]["thin"]}th of the
        second half is kept; the best of those is the MAP. The paper ran 1500 iterations; these fits are shorter,
        and short trial runs suggest, but do not prove, that it does not matter.
        {len(splits[RANDOM])} splits of each kind, the same for all
        models; {len(np.unique(table.people))} apparent people. Standard errors are for restarts and splits drawn at
        random (their variances added), that is for these 62 rows: what other people would do to the figures is not in
        them. "{NEIGHBOURS}" is logistic regression on ages alone, with the kernel of the decay at β = 1: it
        knows who is of the same age, and nothing of brains. "features" counts inputs (for the models the median of the
        best draws).
        """
    )


def _discuss(study: Study, judged: dict[tuple[str, str], Judged], fits: dict[str, list[dict[str, Any]]]) -> None:
    """Say which claims hold, from the numbers."""
    from ddibp.experiments import classify

    grid = [label for label in fits if label.startswith("dd-IBP, β")]
    rivals = [label for label in fits if not label.startswith("dd-IBP")]

    def means(labels: list[str], name: str) -> dict[str, float]:
        return {label: float(judged[label, MAP][name, PAPER_C].mean()) for label in labels}

    def against(first: str, second: str, name: str) -> str:
        a, b = (judged[label, MAP][name, PAPER_C] for label in (first, second))
        gap, error = classify.difference_with_error(a, b)
        verdict = "higher" if gap > 2 * error else "lower" if gap < -2 * error else "not to be told apart"
        return f"{first} {a.mean():.2f}, {second} {b.mean():.2f}: {gap:+.3f} ± {error:.3f}, {verdict}"

    for name in (RANDOM, APART):
        best = max(grid, key=means(grid, name).__getitem__)
        ranks = np.argsort(np.argsort(list(means(grid, name).values())))
        rank = np.corrcoef(np.arange(len(grid)), ranks)[0, 1] if len(grid) > 2 else float("nan")
        strongest = max(rivals, key=means(rivals, name).__getitem__)
        lines = [
            f"AUC and β: rank correlation {rank:.2f} over the grid; {against(grid[-1], grid[0], name)}.",
            f"The best β, chosen by looking, against the IBP: {against(best, 'IBP', name)}.",
            f"Against the strongest of the other models at any β: {against(best, strongest, name)}.",
            f"Against the raw columns: {against(best, 'raw', name)}.",
            f"Against ages alone: {against(best, NEIGHBOURS, name)}.",
        ]
        if "dd-IBP, learned" in fits:
            lines.append(f"With β learned, nothing being chosen by looking: {against('dd-IBP, learned', 'IBP', name)}.")
        study.say("\n".join([f"**{name.capitalize()}**", "", *(f"- {line}" for line in lines)]))
    fall = {label: means([label], RANDOM)[label] - means([label], APART)[label] for label in [*fits, "raw", NEIGHBOURS]}
    most = max(fits, key=fall.__getitem__)
    study.say(
        f"""
        Keeping people apart takes {np.mean([fall[label] for label in fits]):.2f} off the AUC of the models on average
        (most off {most}, {fall[most]:.2f}), {fall["raw"]:.2f} off the raw columns and {fall[NEIGHBOURS]:.2f} off ages
        alone. Part of that is the recognition of people, and part that a training half then has fewer people in it:
        the two are not told apart here. What remains of ages alone with people
        apart, {means([NEIGHBOURS], APART)[NEIGHBOURS]:.2f}, is how the ages of patients and controls happen to lie in
        this table. Any model that is told ages can use that; the IBP and the raw columns cannot.
        """
    )
