"""Data sets: the bundled one is complete and as published, the others are read from files of the user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ddibp import datasets

LOADERS = {
    "load_alzheimers": ("alzheimers_roi.csv", (104, 224)),
    "load_cambridge_bars": ("cambridge_bars.npz", (1000, 36)),
    "load_eeg": ("eeg_segment0_128hz.csv", (385, 32)),
    "load_eeg_segments": ("eeg_segments_32hz.npz", (7584, 32)),
    "load_jura": ("jura.csv", (359, 7)),
    "load_mocap": ("mocap6.csv", (2058, 12)),
    "load_us_income": ("us_income.csv", (48, 81)),
    "load_us_states": ("us_states.csv", (50, 12)),
}


def test_elnino_is_complete_and_as_published():
    elnino = datasets.load_elnino()
    assert elnino.X.shape == (61, 12)
    assert np.isfinite(elnino.X).all()
    np.testing.assert_array_equal(elnino.covariates, np.arange(1950.0, 2011.0))
    assert elnino.row_names[-1] == "2010"
    assert elnino.column_names[::11] == ("JAN", "DEC")
    assert elnino.covariate_names == ("YEAR",)
    # The largest figure is March 1998, the end of the strongest event of the century.
    assert (elnino.row_names[elnino.X.max(axis=1).argmax()], elnino.X.max()) == ("1998", 29.24)


def test_every_loader_is_listed_and_takes_a_path():
    assert {name for name in datasets.__all__ if name.startswith("load")} == {*LOADERS, "load_elnino"}


@pytest.mark.parametrize("name", LOADERS)
def test_without_the_file_it_says_which(name, tmp_path):
    file = LOADERS[name][0]
    with pytest.raises(FileNotFoundError, match=f"path must be the file {file} or a folder that holds it, got"):
        getattr(datasets, name)(tmp_path)


@pytest.mark.parametrize("name", LOADERS)
def test_without_a_path_it_looks_in_the_folder_of_the_environment(name, tmp_path, monkeypatch):
    file = LOADERS[name][0]
    monkeypatch.delenv("DDIBP_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=f"{file} is needed, .* set DDIBP_DATA to a folder .* README"):
        getattr(datasets, name)()
    monkeypatch.setenv("DDIBP_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=f"{file} is not in the folder DDIBP_DATA, .*{tmp_path.name}"):
        getattr(datasets, name)()


def test_the_folder_of_the_environment_is_used(tmp_path, monkeypatch):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "apparent_repeat_scan_runs.csv").write_text("Subject_ID,run\n1,1\n2,1\n3,2\n")
    monkeypatch.setenv("DDIBP_DATA", str(tmp_path))
    assert datasets.alzheimers_runs().tolist() == [1, 1, 2]


@pytest.mark.parametrize("place", ["elsewhere.csv", "jura.csv", "jura_soil/jura.csv"])
def test_a_file_is_found_at_in_or_below_the_path(place, tmp_path):
    file = tmp_path / place
    file.parent.mkdir(exist_ok=True)
    file.write_text("split,Xloc,Yloc,Cd,Co,Cr,Cu,Ni,Pb,Zn\npred,1,2,3,4,5,6,7,8,9\nval,2,3,,5,6,7,8,9,1\n")
    jura = datasets.load_jura(file if place == "elsewhere.csv" else tmp_path)
    np.testing.assert_array_equal(jura.covariates, [[1.0, 2.0], [2.0, 3.0]])
    np.testing.assert_array_equal(jura.X[:, 0], [3.0, np.nan])
    assert jura.labels.tolist() == ["pred", "val"]
    assert jura.row_names == ("0", "1")


def test_a_file_without_a_column_says_which(tmp_path):
    file = tmp_path / "jura.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"jura\.csv has no column 'Xloc'; its columns are a, b"):
        datasets.load_jura(file)


def test_groups_and_left_out_columns(tmp_path):
    (tmp_path / "mocap6.csv").write_text("seq_id,tstep_id,a,b,action_name\n0,0,1,2,Jump\n1,0,3,4,Run\n")
    mocap = datasets.load_mocap(tmp_path)
    assert mocap.groups.tolist() == ["0", "1"]
    assert mocap.labels.tolist() == ["Jump", "Run"]
    assert mocap.column_names == ("a", "b")
    (tmp_path / "us_states.csv").write_text("state,abb,region,lon,lat,Murder\nAlabama,AL,South,-86.75,32.59,13.2\n")
    states = datasets.load_us_states(tmp_path)
    assert states.column_names == ("Murder",)
    np.testing.assert_array_equal(states.covariates, [[32.59, -86.75]])


@pytest.mark.skipif("DDIBP_DATA" not in os.environ, reason="DDIBP_DATA names no folder with the other data sets")
@pytest.mark.parametrize("name", LOADERS)
def test_the_real_files(name):
    file, shape = LOADERS[name]
    table = getattr(datasets, name)(os.environ["DDIBP_DATA"])
    assert table.X.shape == shape
    assert np.isfinite(table.X).all()
    assert len(table.row_names) == shape[0] == len(set(table.row_names))
    assert len(set(table.column_names)) == shape[1]
    assert (table.covariates is None) == (file == "cambridge_bars.npz")


@pytest.mark.skipif("DDIBP_DATA" not in os.environ, reason="DDIBP_DATA names no folder with the other data sets")
def test_apparent_people_are_numbered_row_by_row():
    runs, table = datasets.alzheimers_runs(), datasets.load_alzheimers()
    assert runs.shape == (104,)
    for run in np.unique(runs):
        assert len(set(table.labels[runs == run])) == 1
    assert len(np.unique(runs[table.labels != "MCI"])) == 20


def test_importing_data_loads_nothing_heavy():
    code = (
        "import sys; from ddibp import datasets; datasets.load_elnino();"
        "print(sorted({'scipy', 'numba', 'pandas', 'sklearn', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_bundled_has_its_origin_beside_it():
    folder = Path(datasets.__file__).parent
    readme = (folder / "README.md").read_text(encoding="utf-8")
    bundled = [path.name for path in folder.iterdir() if path.suffix not in (".py", ".md", "")]
    assert bundled == ["elnino.csv"]
    assert "public domain" in readme
