"""How rows come to have features, drawn from actual draws: the IBP, the dd-IBP, and data made of them.

In the dd-IBP every row owns some features (stars) and, for every feature, links to another row or to itself (arrows);
it has the features whose owner its links lead to (shaded).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ddibp.experiments.study import Study

TITLE = "Schematics of the IBP, the dd-IBP and the linear-Gaussian model"
ROWS = 8


def run(study: Study) -> None:
    """Draw the three schematics."""
    from matplotlib.figure import Figure

    from ddibp import DDIBP, IBP, Exponential

    rng = np.random.default_rng(study.stream("draws"))
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    t = np.arange(float(ROWS))
    # The first draws that are neither too small nor too large to be read.
    ibp = _readable(lambda: IBP(2.0).sample(ROWS, rng=rng, return_causes=True))
    linked = _readable(lambda: DDIBP(Exponential(0.5), alpha=1.2).sample(t, rng=rng, return_causes=True))
    _draw(left, ibp, "IBP: rows come in one by one", links=False)
    _draw(right, linked, "dd-IBP: owners, links, inheritance", links=True)
    study.figure(figure, "ibp-and-ddibp", "Rows (circles) and features (columns) of one draw each; stars mark owners")
    study.table(
        "ddibp-draw",
        [
            {"feature": k, "owner": int(linked.owners[k]), "rows": " ".join(map(str, np.flatnonzero(linked.Z[:, k])))}
            for k in range(linked.Z.shape[1])
        ],
    )
    _linear_gaussian(study)


def _readable(draw: Any) -> Any:
    while True:
        found = draw()
        if 4 <= found.Z.shape[1] <= 7 and found.Z.sum() >= 12:
            return found


def _draw(axes: Any, draw: Any, title: str, links: bool) -> None:
    Z, owners = draw.Z, draw.owners
    n, K = Z.shape
    for k in range(K):
        for i in range(n):
            axes.scatter(k, i, s=190, c="#4477aa" if Z[i, k] else "white", edgecolors="0.4", linewidths=0.8, zorder=2)
        axes.scatter(k, owners[k], s=80, marker="*", c="#ffcc33", edgecolors="black", linewidths=0.5, zorder=3)
        for i in range(n) if links else ():
            j = int(draw.links[i, k])
            if i in (j, owners[k]):
                continue
            style = {"arrowstyle": "->", "color": "0.15" if Z[i, k] else "0.75", "lw": 0.9}
            bend = f"arc3,rad={0.35 if j < i else -0.35}"
            axes.annotate("", (k + 0.12, j), (k + 0.12, i), arrowprops={**style, "connectionstyle": bend}, zorder=1)
    axes.set(
        xlim=(-0.6, K - 0.2), ylim=(n - 0.4, -0.6), xlabel="feature", ylabel="row", xticks=range(K), yticks=range(n)
    )
    axes.set_title(title, fontsize=10)


def _linear_gaussian(study: Study) -> None:
    """Fit a small table and draw data, features, weights and what they explain."""
    from matplotlib.figure import Figure

    from ddibp import DDIBP, Exponential, Gamma, LinearGaussian, plots, sample_posterior

    rng = np.random.default_rng(study.stream("data"))
    t = np.arange(40.0)
    Z = np.column_stack([(t >= 5) & (t < 22), t >= 15, (t < 12) | (t > 30)])
    X, _ = LinearGaussian(0.4, 1.0).simulate(Z, 12, rng=rng)
    prior = DDIBP(Exponential(Gamma(2.0, 10.0)), sequential=True)
    draws = 50 if study.quick else 1000
    posterior = sample_posterior(
        prior, LinearGaussian(), X, t, draws=draws, tune=draws, chains=2, seed=study.stream("chains"), progress=False
    )
    best = posterior.map()
    figure = Figure(figsize=(11.0, 3.4), layout="constrained")
    data, features, weights, explained = figure.subplots(1, 4, width_ratios=[3, 1, 3, 3])
    limit = float(np.abs(X).max())
    for axes, values, title in ((data, X, "data X"), (explained, posterior.reconstruction().mean, "E[ZW | X]")):
        axes.imshow(values, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        axes.set(title=title, xlabel="column", ylabel="row")
    plots.feature_matrix(best.Z, ax=features)
    features.set_title("Z")
    plots.weights(best.W, ax=weights)
    weights.set_title("W")
    study.figure(
        figure, "linear-gaussian", "The linear-Gaussian model, X = ZW + noise: a real fit (best draw of Z and W)"
    )
    signal = posterior.reconstruction().mean - X
    study.table(
        "linear-gaussian",
        [
            {
                "features that made the data": Z.shape[1],
                "features of the best draw": best.Z.shape[1],
                "probability of that number": posterior.n_features_law()[best.Z.shape[1]],
                "residual sd (true noise 0.4)": float(signal.std()),
            }
        ],
    )
