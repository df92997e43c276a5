r"""Feature sharing in the limit of many features: :math:`\alpha = \gamma = 1000`, four independent draws of each prior.

The cell (i, j) is :math:`R_{ij}/R_i`, the share of row i's features that row j has too. Under the dd-IBP it tends to a
constant of the pair. Under the dHBP with one lender a row (``coupling="customer"``) it tends to one of two values,
whether two rows borrow from the same row or not, and differs from draw to draw. With a lender for every feature
(``coupling="dish"``), which the paper writes as if it were the same, it tends to a constant of the pair as well: the
contrast that the paper draws between the dd-IBP and the dHBP is one between readings of the dHBP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ddibp.experiments.study import Study

TITLE = "Feature sharing in the limit"
DRAWS = 4


def run(study: Study) -> None:
    """Draw matrices of shared fractions and compare every cell with its law."""
    from matplotlib.figure import Figure

    from ddibp import DDIBP, DHBP, Exponential

    n, mass = (6, 200.0) if study.quick else (10, 1000.0)
    t, decay = np.arange(float(n)), Exponential(0.5)
    priors: dict[str, Any] = {
        "dd-IBP": DDIBP(decay, alpha=mass, sequential=True),
        "dHBP, one lender a row": DHBP(decay, gamma=mass, c0=10.0, c1=1.0, sequential=True),
        "dHBP, a lender for every feature": DHBP(decay, gamma=mass, c0=10.0, c1=1.0, sequential=True, coupling="dish"),
    }
    figure = Figure(figsize=(2.2 * DRAWS, 2.3 * len(priors)), layout="constrained")
    grid, rows = figure.subplots(len(priors), DRAWS), []
    for line, (name, prior) in zip(grid, priors.items(), strict=True):
        law = prior.sharing(t)
        values, weights = law.limiting_fractions()
        nearest, between = [], []
        for d, axes in enumerate(line):
            Z = prior.sample(t, rng=np.random.default_rng(study.stream(name, d))).astype(float)
            R = Z @ Z.T
            fractions = R / np.diagonal(R)[:, None]
            image = axes.imshow(fractions, vmin=0.0, vmax=1.0, cmap="cividis")
            axes.set(xticks=[], yticks=[])
            off = ~np.eye(n, dtype=bool)
            gaps = np.abs(fractions - values)[:, off]
            possible = np.where(weights[:, off] > 0.0, gaps, np.inf)
            error = np.sqrt(np.maximum(fractions * (1.0 - fractions), 1e-3) / np.diagonal(R)[:, None])[off]
            nearest.append(possible.min(axis=0) / error)
            between.append(fractions[off])
        line[0].set_ylabel(name, fontsize=9)
        spread = np.std(between, axis=0)
        rows.append(
            {
                "prior": name,
                "cells": int(np.size(nearest)),
                "largest distance from a predicted value, in standard errors": float(np.max(nearest)),
                "cells beyond 3 standard errors": int((np.array(nearest) > 3.0).sum()),
                "largest spread of a cell between draws": float(spread.max()),
                "values that a cell can take": int((weights[:, 0, 1] > 0.0).sum()),
            }
        )
    figure.colorbar(image, ax=grid, label="$R_{ij} / R_i$", shrink=0.6)
    caption = f"Shared fractions in four draws of each prior, mass {mass:g}, exponential decay, sequential distances"
    study.figure(figure, "sharing-limit", caption)
    study.table("sharing-limit", rows)
    study.say(
        """
        Standard errors are those of a binomial proportion given the number of features of the row. With a lender for
        every feature the pairs have constants too; what the paper calls a property of the dHBP, a limit that differs
        from draw to draw between two values, comes from the one lender that a row has for all of its features.
        """
    )
