"""Pictures: what the artists hold is what was given."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from ddibp import IBP, Constant, CustomDecay, Exponential, Logistic, Window, plots, sharing


@pytest.fixture
def ax() -> Axes:
    return Figure().add_subplot()


def pixels(ax: Axes) -> np.ndarray:
    (image,) = ax.images
    return np.asarray(image.get_array())


@pytest.mark.parametrize(
    "draw", [lambda ax: plots.feature_matrix(np.eye(3), ax=ax), lambda ax: plots.decay(Constant(), ax=ax)]
)
def test_the_given_axes_come_back(draw, ax):
    assert draw(ax) is ax


def test_without_axes_every_picture_gets_its_own_figure(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    import matplotlib.pyplot as plt

    drawn = [plots.feature_matrix(np.eye(3)), plots.sharing_matrix(np.eye(3)), plots.decay(Constant())]
    try:
        assert len({id(ax.figure) for ax in drawn}) == 3
        assert {ax.figure.number for ax in drawn} <= set(plt.get_fignums())
    finally:
        plt.close("all")


def test_feature_matrix_shows_every_entry_in_its_place(ax):
    Z = np.array([[1, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 1]], bool)
    plots.feature_matrix(Z, ax=ax)
    np.testing.assert_array_equal(pixels(ax), Z)
    assert ax.images[0].get_extent() == [-0.5, 3.5, 2.5, -0.5]
    assert ax.get_xlim() == (-0.5, 3.5)
    assert ax.get_ylim() == (2.5, -0.5)  # row 0 on top
    assert not ax.lines


def test_active_entries_are_dark_and_inactive_ones_white(ax):
    plots.feature_matrix(np.eye(2), ax=ax)
    colours = ax.images[0].to_rgba(np.array([0.0, 1.0]))[:, :3]
    assert tuple(colours[0]) == (1.0, 1.0, 1.0)
    assert colours[1] @ [0.299, 0.587, 0.114] < 0.35


def test_owners_are_stars_on_their_row(ax):
    draw = IBP(3.0).sample(20, rng=0, return_causes=True)
    plots.feature_matrix(draw.Z, owners=draw.owners, ax=ax)
    (stars,) = ax.lines
    assert stars.get_marker() == "*"
    np.testing.assert_array_equal(stars.get_xdata(), np.arange(draw.owners.size))
    np.testing.assert_array_equal(stars.get_ydata(), draw.owners)
    assert np.dot(to_rgb(stars.get_color()), [0.299, 0.587, 0.114]) > 0.65


@pytest.mark.parametrize(("n", "K"), [(4321, 3), (2, 2500), (1001, 1001)])
def test_large_matrices_are_thinned_by_averages(ax, n, K):
    Z = np.random.default_rng(0).random((n, K)) < 0.3
    Z[: n // 2] = True
    plots.feature_matrix(Z, ax=ax)
    shown = pixels(ax)
    assert shown.shape == (min(n, 1000), min(K, 1000))
    assert shown.min() >= 0.0
    assert shown.max() == 1.0
    assert (shown[: len(shown) // 2] == 1.0).all()
    assert shown.mean() == pytest.approx(Z.mean(), abs=0.01)
    assert ax.images[0].get_extent() == [-0.5, K - 0.5, n - 0.5, -0.5]


def test_thinning_leaves_a_lonely_entry_visible(ax):
    Z = np.zeros((2000, 1), bool)
    Z[777] = True
    plots.feature_matrix(Z, ax=ax)
    np.testing.assert_array_equal(np.flatnonzero(pixels(ax)), [388])
    assert pixels(ax)[388, 0] == 0.5


def test_sparse_matrices_and_matrices_without_columns_are_drawn(ax):
    from scipy.sparse import csc_array

    plots.feature_matrix(csc_array(np.eye(3)), ax=ax)
    np.testing.assert_array_equal(pixels(ax), np.eye(3))
    empty = plots.feature_matrix(np.zeros((5, 0)), owners=[], ax=Figure().add_subplot())
    assert [text.get_text() for text in empty.texts] == ["empty"]
    empty.figure.canvas.draw()


@pytest.mark.parametrize(
    ("owners", "message"),
    [
        ([0], r"one row number per feature, 3 in all, got shape \(1,\)"),
        ([0.0, 1.0, 2.0], "float64"),
        ([0, 1, 3], "rows from 0 to 2, got 0 to 3"),
        ([-1, 0, 1], "rows from 0 to 2, got -1 to 1"),
    ],
)
def test_owners_must_be_rows(owners, message, ax):
    with pytest.raises(ValueError, match=message):
        plots.feature_matrix(np.eye(3), owners=owners, ax=ax)


def test_feature_matrix_rejects_what_is_not_binary(ax):
    with pytest.raises(ValueError, match="Z must hold 0 and 1 only"):
        plots.feature_matrix([[2.0]], ax=ax)


def test_sharing_matrix_shows_the_values_from_zero_with_a_labelled_bar(ax):
    S = sharing.expected(IBP(2.0), 4)
    plots.sharing_matrix(S, ax=ax, label="shared")
    np.testing.assert_array_equal(pixels(ax), S.values)
    assert ax.images[0].get_clim() == (0.0, 2.0)
    bar = ax.figure.axes[1]
    assert bar.get_ylabel() == "shared"


def test_sharing_colours_get_lighter_all_the_way(ax):
    plots.sharing_matrix(np.eye(2), ax=ax)
    luminance = ax.images[0].to_rgba(np.linspace(0.0, 1.0, 50))[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(luminance) > 0.0).all()


@pytest.mark.parametrize("S", [np.ones((2, 3)), np.ones(3), np.ones((0, 0))])
def test_sharing_matrix_must_be_square(S, ax):
    with pytest.raises(ValueError, match="S must be a square matrix"):
        plots.sharing_matrix(S, ax=ax)


@pytest.mark.parametrize(
    "f", [Exponential(0.3), Logistic(2.0, 3.0), Window(2.5), Constant(), CustomDecay(lambda d: 1.0 / (1.0 + d))]
)
def test_decay_draws_the_decay(f, ax):
    plots.decay(f, ax=ax)
    (line,) = ax.lines
    d, y = line.get_data()
    np.testing.assert_allclose(y, f(d))
    assert (np.diff(d) >= 0.0).all()
    assert (d[0], d[-1]) == ax.get_xlim()


@pytest.mark.parametrize(
    ("f", "end"),
    [
        (Exponential(0.3), 1.25 * np.log(100) / 0.3),
        (Window(2.0), 2.5),
        (Constant(), 10.0),
        (Exponential(0.0), 10.0),
        (Logistic(1.0, -50.0), 10.0),
    ],
)
def test_decay_ends_where_it_has_fallen(f, end, ax):
    assert plots.decay(f, ax=ax).get_xlim()[1] == pytest.approx(end)


def test_a_jump_is_upright(ax):
    d, y = plots.decay(Window(np.pi), max_distance=9.0, ax=ax).lines[0].get_data()
    jump = int(np.argmin(np.diff(y)))
    assert y[jump] == 1.0
    assert y[jump + 1] == 0.0
    assert d[jump + 1] - d[jump] < 1e-12
    assert ax.get_xlim() == (0.0, 9.0)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, np.nan])
def test_max_distance_must_be_positive(bad, ax):
    with pytest.raises(ValueError, match="max_distance must be a number in"):
        plots.decay(Constant(), max_distance=bad, ax=ax)
