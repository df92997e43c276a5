"""The demo: its tables are the library's, its pictures hide nothing, and its comparison is what it says."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ddibp import DDIBP, Constant, Exponential, Logistic, Window, datasets, sharing
from ddibp.demo import baselines, elnino
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


# Holes in a real table


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    out = tmp_path_factory.mktemp("elnino")
    return out, list(elnino.run_elnino(out, draws=12, tune=4, chains=2))


def test_the_comparison_has_a_line_for_every_method(compared):
    figures = {
        found[1].strip(): float(found[2]) for line in compared[1] if (found := re.match(r"(.{24}) *([0-9.]+) °C", line))
    }
    assert list(figures)[:2] == ["dd-IBP", "IBP"]
    assert [re.sub(r"\d+", "#", name) for name in list(figures)[2:]] == [
        "# nearest neighbours",
        "PCA of rank #",
        "column means",
    ]
    truth = datasets.load_elnino().X
    hidden = elnino.hide(truth.shape)
    X = np.where(hidden, np.nan, truth)
    means = np.sqrt(np.square((np.nanmean(X, axis=0) - truth)[hidden]).mean())
    assert figures["column means"] == round(float(means), 3)
    completed = read(compared[0] / "elnino_completed.csv")[1][:, 1:]
    rmse = np.sqrt(np.square((completed - truth)[hidden]).mean())
    assert abs(figures["dd-IBP"] - rmse) < 0.01  # the file has two decimals
    assert sum("of the hidden entries" in line for line in compared[1]) == 2


def test_what_is_hidden_is_scattered_entries_and_a_stretch():
    hidden = elnino.hide((61, 12))
    assert 73 <= hidden.sum() <= 82
    runs = "".join("x" if h else "." for h in hidden.ravel())
    assert "x" * 9 in runs
    assert not np.array_equal(hidden, elnino.hide((61, 12), seed=1))


def test_the_table_with_holes_has_them_where_they_belong(compared):
    with (compared[0] / "elnino_holes.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    elnino_data = datasets.load_elnino()
    assert header == ["YEAR", *elnino_data.column_names]
    hidden = elnino.hide(elnino_data.X.shape)
    for row, mask, values in zip(rows, hidden, elnino_data.X, strict=True):
        assert row[1:] == ["" if h else f"{x:.2f}" for h, x in zip(mask, values, strict=True)]


def test_the_completed_table_keeps_what_was_observed(compared):
    completed, truth = read(compared[0] / "elnino_completed.csv")[1][:, 1:], datasets.load_elnino().X
    hidden = elnino.hide(truth.shape)
    np.testing.assert_allclose(completed[~hidden], truth[~hidden], atol=1e-9)
    assert np.isfinite(completed).all()


def test_it_writes_what_it_names(compared):
    out, lines = compared
    for name in ("elnino_holes.csv", "elnino_completed.csv", "elnino_hidden.png", "elnino_report.html"):
        assert (out / name).stat().st_size > 1000
        assert any(str(out / name) in line for line in lines), name


def test_its_model_is_that_of_a_sequential_fit():
    from ddibp.cli.model import learned_prior

    options = {"prior": "ddibp", "sequential": True}
    assert learned_prior(options, datasets.load_elnino().covariates[:, None], None) == elnino.DDIBP_PRIOR


def test_pca_fills_a_matrix_of_its_rank_exactly():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 6)) + 3.0
    holes = rng.random(X.shape) < 0.1
    np.testing.assert_allclose(baselines.pca(np.where(holes, np.nan, X), 2)[holes], X[holes], atol=0.02)
    filled, rank = baselines.tuned(baselines.pca, np.where(holes, np.nan, X), range(1, 5))
    assert rank == 2
    np.testing.assert_array_equal(filled[~holes], X[~holes])


def test_the_command_prints_both_parts(tmp_path, monkeypatch):
    from ddibp.cli import main

    def little(out):
        yield f"compared {out}"

    monkeypatch.setattr("ddibp.demo.run_elnino", little)
    result = CliRunner().invoke(main, ["demo", "--out", str(tmp_path / "d")])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == f"compared {tmp_path / 'd'}"
    assert [tmp_path / "d" / line.rpartition("/")[2] for line in lines[1:]] == [*map(Path, lines[1:])]
    assert sorted(map(Path, lines[1:])) == sorted((tmp_path / "d").iterdir())
    only = CliRunner().invoke(main, ["demo", "--decays", "--out", str(tmp_path / "e")])
    assert len(only.stdout.splitlines()) == 10
    (tmp_path / "taken").write_text("")
    refused = CliRunner().invoke(main, ["demo", "--out", str(tmp_path / "taken")])
    assert refused.exit_code == 2
    assert "is a file" in refused.stderr
    below = CliRunner().invoke(main, ["demo", "--decays", "--out", str(tmp_path / "taken" / "below")])
    assert below.exit_code == 1
    assert below.stderr.endswith("taken/below: Not a directory.\n")
