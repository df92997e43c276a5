r"""Two rows: the law of the number of features that they share, against the weight of their link.

At :math:`\alpha = \gamma = 15` and 30, :math:`c_0 = 10`, :math:`c_1 = 1`. Exact laws, checked by simulation. For the
dHBP with one lender a row the law is a mixture of two Poissons; for the dd-IBP it is one Poisson, from 0 to all.

The paper remarks that :math:`E[R_i]` is the same under both priors. That holds for sequential distances, where
:math:`E[R_i] = \alpha`; for symmetric ones it is :math:`\alpha (1 + 2f)/(1 + f)^2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ddibp.experiments.study import Study

TITLE = "Feature sharing of two rows"
C0, C1 = 10.0, 1.0


def run(study: Study) -> None:
    """Draw heat maps of the exact laws; tabulate exact and simulated moments."""
    from matplotlib.figure import Figure

    grid = np.linspace(0.02, 0.98, 13 if study.quick else 49)
    n_draws = 200 if study.quick else 4000
    kinds = ("dd-IBP, sequential", "dd-IBP, symmetric", "dHBP, one lender a row", "dHBP, a lender for every feature")
    for mass in (15.0, 30.0):
        counts = np.arange(int(2.2 * mass))
        figure = Figure(figsize=(3.0 * len(kinds), 3.0), layout="constrained")
        panels, rows = figure.subplots(1, len(kinds), sharey=True), []
        for axes, kind in zip(panels, kinds, strict=True):
            laws = [_prior(kind, mass).sharing(_distances(f)) for f in grid]
            table = np.array([law.pmf(counts, 1, 0) for law in laws]).T
            axes.imshow(np.sqrt(table), origin="lower", aspect="auto", cmap="cividis", extent=(0, 1, 0, counts[-1]))
            axes.set_title(kind, fontsize=9)
            axes.set_xlabel("decay f between the rows")
            for f in (0.1, 0.5, 0.9):
                rows.append(_moments(kind, mass, f, n_draws, np.random.default_rng(study.stream(kind, mass, f))))
        panels[0].set_ylabel("$R_{12}$")
        study.figure(figure, f"two-rows-{mass:g}", f"Law of the number of shared features, mass {mass:g} (root of it)")
        study.table(f"two-rows-{mass:g}", rows)


def _prior(kind: str, mass: float) -> Any:
    from ddibp import DDIBP, DHBP, Exponential

    if kind.startswith("dd-IBP"):
        return DDIBP(Exponential(1.0), alpha=mass, sequential="sequential" in kind, metric="precomputed")
    coupling = "customer" if "one" in kind else "dish"
    return DHBP(Exponential(1.0), gamma=mass, c0=C0, c1=C1, metric="precomputed", coupling=coupling)


def _distances(f: float) -> Any:
    return np.array([[0.0, -np.log(f)], [-np.log(f), 0.0]])


def _moments(kind: str, mass: float, f: float, n_draws: int, rng: np.random.Generator) -> dict[str, Any]:
    from ddibp import sharing

    prior, D = _prior(kind, mass), _distances(f)
    law = prior.sharing(D)
    R = sharing.simulate(prior, D, n_draws, rng)
    error = np.sqrt(law.variance()[1, 0] / n_draws)
    return {
        "prior": kind,
        "mass": mass,
        "f": f,
        "E[R_2]": float(law.mean()[1, 1]),
        "E[R_12]": float(law.mean()[1, 0]),
        "simulated": float(R[:, 1, 0].mean()),
        "standard error": float(error),
        "sd of R_12": float(np.sqrt(law.variance()[1, 0])),
        "simulated sd": float(R[:, 1, 0].std()),
    }
