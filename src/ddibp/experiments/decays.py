r"""One draw of Z for each of the four decays, rows in time, sequential distances; the decay in an inset.

Under the constant decay with sequential distances the dd-IBP is the IBP. All draws have the same mass, so that every
row has as many features on average whatever the decay: what changes is who shares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ddibp.experiments.study import Study

TITLE = "Draws of Z under the four decays"


def run(study: Study) -> None:
    """Draw the matrices and tabulate their sizes beside what the law says."""
    from ddibp import DDIBP, plots
    from ddibp.demo.decays import ALPHA, DECAYS, TITLES

    t = np.arange(60.0 if study.quick else 200.0)
    rows, figure = [], _figure(len(DECAYS))
    for axes, (name, decay) in zip(figure.axes, DECAYS.items(), strict=True):
        prior = DDIBP(decay, alpha=ALPHA, sequential=True)
        Z = prior.sample(t, rng=np.random.default_rng(study.stream(name)))
        plots.feature_matrix(Z, ax=axes)
        axes.set_title(TITLES[name], fontsize=9)
        inset = axes.inset_axes((0.62, 0.72, 0.34, 0.22))
        plots.decay(decay, max_distance=30.0, ax=inset)
        inset.set(title="", xlabel="", ylabel="")
        inset.tick_params(labelsize=6)
        sharing = prior.expected_sharing(t)
        rows.append(
            {
                "decay": repr(decay),
                "features in the draw": Z.shape[1],
                "expected": prior.expected_features(t),
                "features of a row, in the draw": float(Z.sum(axis=1).mean()),
                "expected (every row)": float(sharing[-1, -1]),
                "expected to share with the row before": float(sharing[-1, -2]),
                "with the row 20 before": float(sharing[-1, -21]),
            }
        )
    study.figure(figure, "decays", f"One draw of Z for each decay, mass {ALPHA:g}, {len(t)} rows")
    study.table("decays", rows)


def _figure(n: int):  # type: ignore[no-untyped-def]
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * n, 4.2), layout="constrained")
    figure.subplots(1, n)
    return figure
