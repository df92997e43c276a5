"""Ways to fill holes: observed entries stay, holes are filled, simple truths come back; experiments run."""

from __future__ import annotations

import os

import numpy as np
import pytest

from ddibp import IBP, experiments
from ddibp.experiments import comparing, fillers, holes

OTHERS = {name: method for name, method in fillers.others().items() if method is not None}
FAST = [name for name in OTHERS if "MEFISTO" not in name]
needs_data = pytest.mark.skipif(
    not os.environ.get("DDIBP_DATA"), reason="needs data that do not come with the package; set DDIBP_DATA"
)


def make(rows=40, seed=0):
    """Return a table of three smooth columns and two copies of them, in units of their own, with holes."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0.0, 10.0, rows))
    waves = np.column_stack([np.sin(t), np.cos(0.7 * t), t / 5.0])
    X = np.column_stack([waves, waves[:, :2] @ [[1.0, -1.0], [0.5, 2.0]]]) * [1.0, 10.0, 1.0, 0.1, 1.0] + 5.0
    hidden = rng.random(X.shape) < 0.15
    return X, t, hidden


@pytest.fixture(scope="module", params=[*FAST, "IBP"])
def filled(request):
    X, t, hidden = make()
    method = OTHERS.get(request.param) or fillers.features(IBP(), draws=30, tune=20)
    with fillers.quiet():
        found = fillers.fill(method, np.where(hidden, np.nan, X), t, np.random.default_rng(0))
    return request.param, found, X, hidden


def test_observed_entries_stay_and_holes_are_filled(filled):
    name, found, X, hidden = filled
    for table in (found.mean, found.low, found.high, found.best):
        if table is not None:
            np.testing.assert_array_equal(table[~hidden], X[~hidden])
            assert np.isfinite(table).all(), name
    if found.low is not None:
        assert (found.low[hidden] < found.high[hidden]).all()


def test_smooth_and_related_columns_come_back(filled):
    name, found, X, hidden = filled
    error = np.sqrt(fillers.score(found, X, hidden, X.std(axis=0))["squared error"])
    assert error < {"column mean": 1.3, "IBP": 0.9, "extra trees, with t": 0.6, "iterative PCA": 0.6}.get(name, 0.45), (
        name,
        error,
    )


def test_nobody_changes_what_it_is_given(filled):
    X, t, hidden = make()
    given = np.where(hidden, np.nan, X)
    name = filled[0]
    kept = given.copy()
    if name in ("linear interpolation", "column mean", "iterative PCA"):
        fillers.fill(OTHERS[name], given, t, np.random.default_rng(0))
        np.testing.assert_array_equal(given, kept)


def test_a_straight_line_is_interpolated_in_time_and_in_the_plane():
    t = np.arange(9.0)
    X = np.column_stack([t, -3.0 * t])
    X[4, 0] = np.nan
    assert fillers.fill(fillers.linear, X, t, np.random.default_rng(0)).mean[4, 0] == pytest.approx(4.0)
    grid = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=-1).reshape(-1, 2)
    Y = (grid @ [1.0, 2.0])[:, None].repeat(2, axis=1)
    Y[5, 1] = np.nan
    assert fillers.fill(fillers.linear, Y, grid, np.random.default_rng(0)).mean[5, 1] == pytest.approx(3.0)


def test_rows_out_of_order_are_filled_as_in_order():
    X, t, hidden = make()
    Y = np.where(hidden, np.nan, X)
    order = np.random.default_rng(1).permutation(len(t))
    method = fillers.features(IBP(), draws=5, tune=5)
    one = fillers.fill(method, Y, t, np.random.default_rng(0)).mean
    other = fillers.fill(method, Y[order], t[order], np.random.default_rng(0)).mean
    np.testing.assert_allclose(other, one[order], rtol=1e-9)


def test_scores_are_in_the_units_given():
    truth, hidden = np.zeros((2, 2)), np.array([[True, False], [False, True]])
    mean = np.array([[2.0, 9.0], [9.0, 4.0]])
    found = fillers.Filled(mean, low=mean - 3.0, high=mean + 3.0, best=2.0 * mean)
    scores = fillers.score(found, truth, hidden, np.array([2.0, 2.0]))
    assert scores["squared error"] == pytest.approx((1.0 + 4.0) / 2.0)
    assert scores["squared error, MAP"] == pytest.approx((4.0 + 16.0) / 2.0)
    assert (scores["coverage"], scores["width"]) == (0.5, 3.0)


def test_dynamic_factors_want_time():
    if "dynamic factors (statsmodels)" not in OTHERS:
        pytest.skip("statsmodels is not installed")
    with pytest.raises(fillers.NotInTimeError, match="in time"):
        fillers.dynamic_factors(np.zeros((4, 3)), np.zeros((4, 2)), np.random.default_rng(0))


@pytest.mark.parametrize("pattern", [name for name in holes.PATTERNS if "out" not in name])
def test_patterns_hide_what_they_say(pattern):
    X = np.zeros((96, 32))
    hidden = holes.PATTERNS[pattern](X, np.random.default_rng(0))
    rows, columns = hidden.any(axis=1).sum(), hidden.any(axis=0).sum()
    expected = {
        "10 rows x 2": (10, 20),
        "10 % at random": (None, 307),
        "30 % at random": (None, 922),
        "a stretch of a channel": (None, 4 * 32),
        "whole rows": (10, 320),
    }[pattern]
    assert hidden.sum() == expected[1]
    assert expected[0] in (None, rows)
    assert columns == 4 or pattern != "a stretch of a channel"


@pytest.mark.parametrize("kind", ["binary", "smooth"])
def test_synthetic_tables_have_the_noise_they_say(kind):
    X, t = holes.TABLES[kind](0)
    assert X.shape == (200, 20)
    assert (np.diff(t) >= 0.0).all()
    # Five series explain everything else: what is left beyond five components is the noise.
    left = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[6:]
    assert np.sqrt(np.square(left).sum() / (194 * 14)) == pytest.approx(0.5, abs=0.05)


def test_an_attempt_is_reproduced_by_its_seed_and_hides_the_same_for_all():
    def one(method):
        return holes.attempt("sea temperature", 0, "10 % at random", method, None, seed=3, tune=5, draws=5)

    first, again = one("IBP"), one("IBP")
    assert {**first, "seconds": 0} == {**again, "seconds": 0}
    assert one("column mean")["squared error"] > first["squared error"] > 0.0


def test_differences_are_taken_on_the_same_holes():
    found = [
        {"index": i, "method": m, "squared error": float(i + (m == "a"))}
        for i in range(4)
        for m in "ab"
        if (i, m) != (3, "b")
    ]
    assert comparing.gain(found, "squared error", {"method": "a"}, {"method": "b"}) == (1.0, 0.0)
    assert comparing.shown([1.0]) == "1.000"


def test_without_data_there_is_one_clear_error(monkeypatch, tmp_path):
    monkeypatch.delenv("DDIBP_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="DDIBP_DATA"):
        experiments.reproduce("eeg", tmp_path, quick=True)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["eeg", "eeg-hard", "synthetic", "beyond"])
def test_quick_versions_run(name, tmp_path):
    page = experiments.reproduce(name, tmp_path, quick=True).read_text()
    assert "| dd-IBP" in page
    assert "quick version" in page
    assert "nan |" not in page
