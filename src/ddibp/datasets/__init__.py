"""Tables to try things on: one that comes with the package, and loaders for files of yours. Nothing is downloaded.

Examples
--------
>>> from ddibp import datasets
>>> elnino = datasets.load_elnino()
>>> elnino.X.shape, elnino.covariate_names, elnino.covariates[:3]
((61, 12), ('YEAR',), array([1950., 1951., 1952.]))
"""

from ddibp.datasets.files import (
    load_alzheimers,
    load_cambridge_bars,
    load_eeg,
    load_elnino,
    load_jura,
    load_mocap,
    load_us_income,
    load_us_states,
)
from ddibp.datasets.table import Dataset

__all__ = [
    "Dataset",
    "load_alzheimers",
    "load_cambridge_bars",
    "load_eeg",
    "load_elnino",
    "load_jura",
    "load_mocap",
    "load_us_income",
    "load_us_states",
]
