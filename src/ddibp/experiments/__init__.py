"""The paper's figures and tables, and what lies beyond them: one file an experiment, run by ``ddibp reproduce``.

An experiment is a module with ``TITLE``, a docstring that says what it shows, and ``run(study)``, which draws numbers,
pictures and a page through the `ddibp.experiments.study.Study` that it is given. To add one, write the file and its
line below.

Examples
--------
>>> from ddibp import experiments
>>> experiments.titles()["decays"]
'Draws of Z under the four decays'
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

NAMES = (
    "schematics",
    "decays",
    "sharing-limit",
    "sharing-two-rows",
    "alzheimers",
    "traces",
    "beta-zero",
    "costs",
    "eeg",
    "eeg-hard",
    "synthetic",
    "beyond",
)


def module(name: str) -> Any:
    """Return the module of an experiment."""
    if name not in NAMES:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(NAMES)}.")
    return importlib.import_module(f"ddibp.experiments.{name.replace('-', '_')}")


def titles() -> dict[str, str]:
    """Return the titles of all experiments by name."""
    return {name: module(name).TITLE for name in NAMES}


def reproduce(
    name: str, out: str | Path = "results", *, seed: int = 0, quick: bool = False, n_jobs: int | None = None
) -> Path:
    """Run one experiment and return the page that it writes.

    Parameters
    ----------
    name : str
        One of ``NAMES``.
    out : path
        Folder in which every experiment has a folder of its own. Fits that are there already are not done again.
    seed : int
        Fixes all numbers, whatever ``n_jobs`` is.
    quick : bool
        Whether to do a small version, for a look or a test; its numbers mean little.
    n_jobs : int, optional
        Fits at the same time; -1 for one a core.
    """
    from ddibp.experiments.study import Study

    study = Study(name, Path(out) / name, seed=seed, quick=quick, n_jobs=n_jobs)
    found = module(name)
    study.title, study.about = found.TITLE, found.__doc__ or ""
    found.run(study)
    return study.finish()
