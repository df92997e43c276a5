"""Tables to try things on: one that comes with the package, and loaders for files of yours. Nothing is downloaded.

Loaders look where ``path`` says, or in the folder that the environment variable DDIBP_DATA names.

Examples
--------
>>> from ddibp import datasets
>>> elnino = datasets.load_elnino()
>>> elnino.X.shape, elnino.covariate_names, elnino.covariates[:3]
((61, 12), ('YEAR',), array([1950., 1951., 1952.]))
"""

from ddibp.datasets.files import (
    alzheimers_runs,
    load_alzheimers,
    load_cambridge_bars,
    load_eeg,
    load_eeg_segments,
    load_elnino,
    load_jura,
    load_mocap,
    load_us_income,
    load_us_states,
)
from ddibp.datasets.table import Dataset

__all__ = [
    "Dataset",
    "alzheimers_runs",
    "load_alzheimers",
    "load_cambridge_bars",
    "load_eeg",
    "load_eeg_segments",
    "load_elnino",
    "load_jura",
    "load_mocap",
    "load_us_income",
    "load_us_states",
]
