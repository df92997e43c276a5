r"""What chains cost: CPU seconds for 1500 iterations, a model a row, a data set a column.

A chain starts as it does by default and runs until its number of features has grown; then so many more iterations are
timed and scaled to 1500. Times are CPU time of one core (BLAS has one thread), without compiling, with every tenth draw
kept. They depend on the machine, and most of all on the number of features that the data want, which stands beside
them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ddibp.experiments.study import Study

TITLE = "What 1500 iterations cost"
BETA = {"alzheimers": 0.3, "eeg": 3.0, "elnino": 0.3}  # about one over the distance at which rows still look alike
WARM, TIMED = 100, 100


def run(study: Study) -> None:
    """Time every model on every data set."""
    from ddibp.experiments import chains, models

    warm, timed = (10, 10) if study.quick else (WARM, TIMED)
    tasks = [
        {
            "data": data,
            "model": name,
            "prior": prior,
            "seed": study.stream(data, name),
            "warm": warm,
            "timed": timed,
        }
        for data in (("elnino", "eeg") if study.quick else chains.TABLES)
        for name, prior in models.priors(BETA[data], chains.table(data).covariates).items()
    ]
    fits = study.map(seconds, tasks)
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(fit["model"] for fit in fits):
        row: dict[str, Any] = {"model": name}
        for fit in fits:
            if fit["model"] == name:
                n, m = fit["shape"]
                row[f"{fit['data']} ({n} × {m}), seconds"] = 1500.0 * fit["seconds"] / timed
                row[f"{fit['data']}, features"] = fit["features"]
        rows.append(row)
    study.table("costs", rows)
    names = [key for key in rows[0] if key.endswith("seconds")]
    study.say(
        "\n".join(
            f"- {key.removesuffix(', seconds')}: from {min(row[key] for row in rows):.0f} s "
            f"({min(rows, key=lambda row: row[key])['model']}) to {max(row[key] for row in rows):.0f} s "
            f"({max(rows, key=lambda row: row[key])['model']})."
            for key in names
        )
    )
    study.say(
        f"""
        {timed} iterations were timed after {warm}. β is {", ".join(f"{b:g} ({data})" for data, b in BETA.items())}.
        Figures of one chain each: another chain, with another number of features, may differ by a third.
        """
    )


def seconds(data: str, prior: Any, seed: np.random.SeedSequence, warm: int, timed: int, **_: Any) -> dict[str, Any]:
    """Return the CPU seconds of so many iterations after others, and the number of features in them."""
    from ddibp.experiments import chains

    chains.run(data, prior, seed, iterations=2, tune=0)  # compiles
    before = _timed(data, prior, seed, warm, 0)[0]
    both, features = _timed(data, prior, seed, warm + timed, warm)
    return {"seconds": both - before, "features": features, "shape": list(chains.table(data).X.shape)}


def _timed(data: str, prior: Any, seed: np.random.SeedSequence, iterations: int, tune: int) -> tuple[float, float]:
    """Time a chain whose first iterations are those of a shorter one with the same seed."""
    from ddibp.experiments import chains

    begin = time.process_time()
    posterior, _ = chains.run(data, prior, seed, iterations=iterations, tune=tune, thin=10)
    return time.process_time() - begin, float(posterior.n_features.mean())
