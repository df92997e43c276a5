"""The demo: its tables are the library's, and its pictures hide nothing."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from ddibp import DDIBP, Constant, Exponential, Logistic, Window, sharing
from ddibp.demo import decays as demo

NAMES = ("constant", "exponential", "logistic", "window")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return out, demo.run_decays(out)


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return header, np.array(rows, dtype=float)


def test_it_returns_exactly_the_files_it_writes(written):
    out, paths = written
    tables = {f"{kind}_{name}.csv" for kind in ("features", "sharing") for name in NAMES}
    assert {path.name for path in paths} == tables | {"decays.png", "sharing.png"}
    assert len(paths) == 10
    assert sorted(paths) == sorted(out.iterdir())


@pytest.mark.parametrize("name", ["decays.png", "sharing.png"])
def test_pictures_are_pictures(written, name):
    from matplotlib.image import imread

    picture = imread(written[0] / name)
    assert min(picture.shape[:2]) > 400
    assert picture.std() > 0.1


def test_it_shows_each_decay_once():
    assert [type(decay) for decay in demo.DECAYS.values()] == [Constant, Exponential, Logistic, Window]
    assert tuple(demo.DECAYS) == tuple(demo.TITLES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_feature_tables_are_the_draws(written, name):
    header, Z = read(written[0] / f"features_{name}.csv")
    prior = DDIBP(demo.DECAYS[name], alpha=demo.ALPHA, sequential=True)
    np.testing.assert_array_equal(Z, prior.sample(np.arange(200.0), rng=demo.SEED))
    assert header == [f"feature_{k}" for k in range(Z.shape[1])]


@pytest.mark.parametrize("name", NAMES)
def test_sharing_tables_are_the_exact_fractions(written, name):
    header, S = read(written[0] / f"sharing_{name}.csv")
    prior = DDIBP(demo.DECAYS[name], alpha=demo.ALPHA, sequential=True)
    np.testing.assert_array_equal(S, sharing.limiting_fraction(prior, np.arange(200.0)).values)
    assert header == [f"row_{i}" for i in range(200)]


def test_the_constant_decay_shares_as_the_ibp(written):
    S = read(written[0] / "sharing_constant.csv")[1]
    np.testing.assert_allclose(S, 0.5 + 0.5 * np.eye(200), rtol=1e-10)


def test_no_fraction_off_the_diagonal_is_beyond_the_colour_bar(written):
    for name in NAMES:
        S = read(written[0] / f"sharing_{name}.csv")[1]
        assert S[~np.eye(200, dtype=bool)].max() <= 0.5 + 1e-10


@pytest.mark.parametrize("name", NAMES)
def test_the_inset_hides_no_active_entry(written, name):
    Z = read(written[0] / f"features_{name}.csv")[1]
    assert not Z[: int(0.27 * 200), int(0.73 * Z.shape[1]) :].any()
