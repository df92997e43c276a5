"""The loaders, one function a set; README.md beside this file has origins and licences.

Without a path, files are looked for in the folder that the environment variable DDIBP_DATA names. Nothing is
downloaded: the sources have no address that stays and whose content could be checked.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ddibp.datasets.table import Dataset, find, read_csv

PathLike: TypeAlias = "str | os.PathLike[str]"


def load_elnino() -> Dataset:
    """Return monthly mean sea-surface temperatures in degrees C, 1950 to 2010, a row per year. Public domain.

    Examples
    --------
    >>> from ddibp import datasets
    >>> elnino = datasets.load_elnino()
    >>> elnino.row_names[0], dict(zip(elnino.column_names, elnino.X[0].tolist()))["JAN"]
    ('1950', 23.11)
    """
    return read_csv(
        Path(__file__).with_name("elnino.csv"),
        "elnino.csv",
        columns=("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
        covariates=("YEAR",),
        rows="YEAR",
        description="Monthly mean sea-surface temperature (degrees C), 1950-2010. Public domain.",
    )


def alzheimers_runs(path: PathLike | None = None) -> NDArray[np.int64]:
    """Return the apparent person of each of the 104 rows of `load_alzheimers`, numbered from 1.

    Rows that follow each other and agree in diagnosis, sex and test scores, with ages that fit, look like scans of one
    person. This is inferred, not part of the source.

    Parameters
    ----------
    path : path, optional
        The file ``apparent_repeat_scan_runs.csv``, or a folder that holds it; the folder DDIBP_DATA by default.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ddibp import datasets
    >>> file = Path(tempfile.mkdtemp()) / "apparent_repeat_scan_runs.csv"
    >>> _ = file.write_text("Subject_ID,run" + chr(10) + "1,1" + chr(10) + "2,1" + chr(10) + "3,2")
    >>> datasets.alzheimers_runs(file)
    array([1, 1, 2])
    """
    runs = read_csv(path, "apparent_repeat_scan_runs.csv", columns=("run",), rows="Subject_ID", description="")
    return runs.X[:, 0].astype(np.int64)


def load_cambridge_bars(path: PathLike | None = None) -> Dataset:
    """Read ``cambridge_bars.npz``: 1,000 images of 6 x 6 pixels made of four bars, without covariates.

    Parameters
    ----------
    path : path, optional
        The file, or a folder that holds it; the folder DDIBP_DATA by default.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from ddibp import datasets
    >>> file = Path(tempfile.mkdtemp()) / "cambridge_bars.npz"
    >>> np.savez(file, X=np.zeros((5, 36)), Z=np.ones((5, 4)))
    >>> datasets.load_cambridge_bars(file)
    <Dataset of 5 rows x 36 columns, no covariates>
    """
    with np.load(find(path, "cambridge_bars.npz"), allow_pickle=False) as saved:
        X, Z = np.asarray(saved["X"], dtype=np.float64), np.asarray(saved["Z"])
    return Dataset(
        X=X,
        covariates=None,
        column_names=tuple(f"pixel_{i // 6}_{i % 6}" for i in range(X.shape[1])),
        covariate_names=(),
        row_names=tuple(map(str, range(len(X)))),
        labels=Z,
        description="Cambridge bars: simulated images; labels are the features that made them.",
    )


def load_alzheimers(path: PathLike | None = None) -> Dataset:
    """Read ``alzheimers_roi.csv``: 224 measures of 56 brain regions in 104 scans, with age and diagnosis.

    The rows look like repeated scans of fewer people: consecutive rows are not independent.

    Parameters
    ----------
    path : path, optional
        The file, or a folder that holds it; the folder DDIBP_DATA by default.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ddibp import datasets
    >>> folder = Path(tempfile.mkdtemp())
    >>> text = "Subject_ID,Group,MMSE,CDR,Sex,Age,TBV,GMV,WMV,CSFV,roi01_SA" + chr(10) + "1,AD,21,1,F,82,1,1,1,1,147.5"
    >>> _ = (folder / "alzheimers_roi.csv").write_text(text)
    >>> datasets.load_alzheimers(folder)
    <Dataset of 1 rows x 1 columns, covariates Age>
    """
    return read_csv(
        path,
        "alzheimers_roi.csv",
        covariates=("Age",),
        rows="Subject_ID",
        label="Group",
        leave_out=("MMSE", "CDR", "Sex", "TBV", "GMV", "WMV", "CSFV"),
        description="SOCR July 2009 ID NI: brain regions from MRI; label AD, MCI or NC. Subjects are ADNI's.",
    )


def load_eeg(path: PathLike | None = None) -> Dataset:
    """Read ``eeg_segment0_128hz.csv``: 385 times of 32 EEG channels in microvolts, with the time in seconds.

    Parameters
    ----------
    path : path, optional
        The file, or a folder that holds it; the folder DDIBP_DATA by default.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ddibp import datasets
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "eeg_segment0_128hz.csv").write_text("time_s,Fz,Cz" + chr(10) + "0.0,-22.5,7.6")
    >>> datasets.load_eeg(folder)
    <Dataset of 1 rows x 2 columns, covariates time_s>
    """
    return read_csv(
        path,
        "eeg_segment0_128hz.csv",
        covariates=("time_s",),
        description="Piece 0 of the EEGLAB tutorial data, visual selective attention, 128 Hz, microvolts.",
    )


def load_eeg_segments(path: PathLike | None = None) -> Dataset:
    """Read ``eeg_segments_32hz.npz``: 79 pieces of three seconds of 32 EEG channels, 96 times each, in microvolts.

    The pieces stand below each other and are groups; the gaps between them are unknown. The covariate is the time from
    the flash of the target, in seconds; labels say whether it is "before" or "after" it. Two channels, EOG1 and EOG2,
    are eye movements.

    Parameters
    ----------
    path : path, optional
        The file, or a folder that holds it; the folder DDIBP_DATA by default.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from ddibp import datasets
    >>> file = Path(tempfile.mkdtemp()) / "eeg_segments_32hz.npz"
    >>> np.savez(file, data=np.zeros((3, 2, 1)), channels=np.array(["Fz"]), time_rel_target_s=np.array([-0.1, 0.1]))
    >>> eeg = datasets.load_eeg_segments(file)
    >>> eeg.X[eeg.groups == "2"].shape, eeg.labels.tolist()[:2]
    ((2, 1), ['before', 'after'])
    """
    with np.load(find(path, "eeg_segments_32hz.npz"), allow_pickle=False) as saved:
        pieces, times = np.asarray(saved["data"], dtype=np.float64), np.asarray(saved["time_rel_target_s"], np.float64)
        channels = tuple(saved["channels"].tolist())
    n_pieces, n_times, n_channels = pieces.shape
    groups = np.repeat(np.arange(n_pieces).astype(np.str_), n_times)
    return Dataset(
        X=pieces.reshape(-1, n_channels),
        covariates=np.tile(times, n_pieces),
        column_names=channels,
        covariate_names=("time_s",),
        row_names=tuple(f"{piece}:{i}" for piece in range(n_pieces) for i in range(n_times)),
        groups=groups,
        labels=np.tile(np.where(times < 0.0, "before", "after"), n_pieces),
        description="EEGLAB tutorial data, visual selective attention, 79 pieces at 32 Hz, microvolts.",
    )


def load_jura(path: PathLike | None = None) -> Dataset:
    """Read ``jura.csv``: seven metals (mg/kg) in 359 samples of topsoil, with the place in kilometres; take logs.

    Parameters
    ----------
    path : path, optional
        The file, or a folder that holds it; the folder DDIBP_DATA by default.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ddibp import datasets
    >>> folder = Path(tempfile.mkdtemp())
    >>> text = "split,Xloc,Yloc,Cd,Co,Cr,Cu,Ni,Pb,Zn" + chr(10) + "pred,2.4,3.1,1.7,9.3,38,26,21,77,93"
    >>> _ = (folder / "jura.csv").write_text(text)
    >>> datasets.load_jura(folder)
    <Dataset of 1 rows x 7 columns, covariates Xloc, Yloc>
    """
    return read_csv(
        path,
        "jura.csv",
        columns=("Cd", "Co", "Cr", "Cu", "Ni", "Pb", "Zn"),
        covariates=("Xloc", "Yloc"),
        label="split",
        description="Jura topsoil (Goovaerts 1997): metals in mg/kg; label: published hold-out (pred or val).",
    )


def load_mocap(path: PathLike | None = None) -> Dataset:
    """Read ``mocap6.csv``: twelve joints in six sequences of motion capture, ten times a second.

    Sequences are groups: their times have nothing to do with each other. Labels name the exercise.

    Parameters
    ----------
    path : path, optional
        The file, or a folder that holds it; the folder DDIBP_DATA by default.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ddibp import datasets
    >>> folder = Path(tempfile.mkdtemp())
    >>> text = "seq_id,tstep_id,root.ty,lfoot.rx,action_name" + chr(10) + "0,0,-0.7,-9.7,JumpJack"
    >>> _ = (folder / "mocap6.csv").write_text(text)
    >>> datasets.load_mocap(folder)
    <Dataset of 1 rows x 2 columns, covariates tstep_id>
    """
    return read_csv(
        path,
        "mocap6.csv",
        covariates=("tstep_id",),
        group="seq_id",
        label="action_name",
        description="CMU motion capture, six sequences of exercises (Fox et al. 2014).",
    )


def load_us_income(path: PathLike | None = None) -> Dataset:
    """Read ``us_income.csv``: income per head of 48 US states, 1929 to 2009, in dollars of the year.

    Covariates are latitude and longitude, in the order that ``metric="haversine"`` takes. Take logs and subtract each
    year's mean, or the common growth is all that there is.

    Parameters
    ----------
    path : path, optional
        The file, or a folder that holds it; the folder DDIBP_DATA by default.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ddibp import datasets
    >>> folder = Path(tempfile.mkdtemp())
    >>> text = "Name,STATE_FIPS,lon,lat,1929,1930" + chr(10) + "Alabama,1,-86.8,32.8,323,267"
    >>> _ = (folder / "us_income.csv").write_text(text)
    >>> datasets.load_us_income(folder)
    <Dataset of 1 rows x 2 columns, covariates lat, lon>
    """
    return read_csv(
        path,
        "us_income.csv",
        covariates=("lat", "lon"),
        rows="Name",
        leave_out=("STATE_FIPS",),
        description="US income per head by state, 1929-2009 (Bureau of Economic Analysis).",
    )


def load_us_states(path: PathLike | None = None) -> Dataset:
    """Read ``us_states.csv``: arrests in 1973 and facts of 50 US states, with latitude and longitude.

    Alaska and Hawaii are not where they are on the globe. Labels are regions.

    Parameters
    ----------
    path : path, optional
        The file, or a folder that holds it; the folder DDIBP_DATA by default.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ddibp import datasets
    >>> folder = Path(tempfile.mkdtemp())
    >>> text = "state,abb,region,lon,lat,Murder,Assault" + chr(10) + "Alabama,AL,South,-86.75,32.59,13.2,236"
    >>> _ = (folder / "us_states.csv").write_text(text)
    >>> datasets.load_us_states(folder)
    <Dataset of 1 rows x 2 columns, covariates lat, lon>
    """
    return read_csv(
        path,
        "us_states.csv",
        covariates=("lat", "lon"),
        rows="state",
        label="region",
        leave_out=("abb",),
        description="US states: arrests in 1973 and facts of the 1970s, as in R.",
    )
