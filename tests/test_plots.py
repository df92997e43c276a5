"""Pictures: what the artists hold is what was given."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from ddibp import DDIBP, IBP, Constant, CustomDecay, Exponential, Gamma, Logistic, Window, plots, sharing
from ddibp.plots import _order
from playback import make_posterior


@pytest.fixture
def ax() -> Axes:
    return Figure().add_subplot()


@pytest.fixture(scope="module")
def posterior():
    return make_posterior(30, 3, 3, covariates=np.random.default_rng(2).permutation(30.0 + np.arange(30)))


def legend(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def tick_names(axis, places) -> list[str]:
    return [axis.get_major_formatter()(place, None) for place in places]


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


def test_rows_by_covariate_and_features_by_onset(ax):
    Z = np.array([[0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], bool)
    t = [40.0, 10.0, 20.0, 30.0]
    plots.feature_matrix(Z, owners=[2, 3, 0], covariates=t, ax=ax)
    np.testing.assert_array_equal(pixels(ax), [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 0]])
    assert tick_names(ax.yaxis, range(4)) == ["10", "20", "30", "40"]
    assert tick_names(ax.xaxis, range(3)) == ["0", "1", "2"]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [1, 2, 3])


def test_the_names_of_features_move_with_them(ax):
    plots.feature_matrix(np.array([[0, 1], [1, 0]], bool), covariates=[0.0, 1.0], ax=ax)
    np.testing.assert_array_equal(pixels(ax), np.eye(2))
    assert tick_names(ax.xaxis, [0, 1, 2, -1]) == ["1", "0", "", ""]


def test_feature_matrix_of_a_posterior_is_its_best_draw(ax, posterior):
    plots.feature_matrix(posterior, ax=ax)
    rows = np.argsort(posterior.context["covariates"])
    Z = posterior.map().Z[rows]
    np.testing.assert_array_equal(pixels(ax), Z[:, _order.by_onset(Z)])
    onset = pixels(ax).argmax(axis=0)
    assert (np.diff(onset) >= 0).all()


def test_sharing_of_a_posterior_is_along_the_covariate(ax, posterior):
    plots.sharing_matrix(posterior, ax=ax)
    rows = np.argsort(posterior.context["covariates"])
    np.testing.assert_allclose(pixels(ax), posterior.sharing()[np.ix_(rows, rows)])
    assert tick_names(ax.xaxis, [0, 29]) == ["30", "59"]


@pytest.mark.parametrize(
    ("covariates", "error", "message"),
    [
        ([1.0], ValueError, r"one number per row, 3 in all, got shape \(1,\): give one column"),
        ([1.0, np.nan, 2.0], ValueError, "covariates must be finite, got nan in row 1"),
        (["a", "b", "c"], TypeError, "covariates must be numbers"),
    ],
)
def test_covariates_must_be_one_number_per_row(ax, covariates, error, message):
    with pytest.raises(error, match=message):
        plots.feature_matrix(np.eye(3), covariates=covariates, ax=ax)


def test_activations_are_lanes_by_onset(ax):
    t = np.array([3.0, 1.0, 2.0, 1.0])
    P = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.6, 0.5, 0.0], [0.0, 0.5, 0.2]])
    plots.activations(P, covariates=t, ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "0", "2"]
    first, second, third = (line.get_xydata() for line in ax.lines)
    np.testing.assert_array_equal(first[:, 0], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(first[:, 1], 0 - 0.85 * np.array([0.75, 0.5, 0.5]))  # rows at 1 are averaged
    np.testing.assert_allclose(second[:, 1], 1 - 0.85 * np.array([0.0, 0.6, 1.0]))
    np.testing.assert_allclose(third[:, 1], 2 - 0.85 * np.array([0.1, 0.0, 0.0]))
    assert ax.yaxis_inverted()


def test_activations_of_a_posterior_have_the_range_of_chains_as_band(ax, posterior):
    plots.activations(posterior, features=[1], ax=ax)
    rows = np.argsort(posterior.context["covariates"])
    chains = [np.mean([Z[rows, 1] for Z in posterior.draws(chain)], axis=0) for chain in range(2)]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), -0.85 * np.mean(chains, axis=0), atol=1e-12)
    corners = ax.collections[1].get_paths()[0].vertices
    assert corners[:, 1].min() == pytest.approx(-0.85 * np.max(chains))
    for row in range(1, 29):
        cell = [set(corners[corners[:, 0] == 30.0 + row + side][:, 1].round(9)) for side in (-0.5, 0.5)]
        assert {round(-0.85 * c[row], 9) for c in chains} <= cell[0] & cell[1]
    assert any(a != b for a, b in zip(*chains, strict=True))


def test_activations_show_the_thirty_largest(ax):
    P = np.full((5, 40), 0.5)
    P[:, 7] = 0.0
    plots.activations(P, ax=ax)
    assert len(ax.lines) == 30
    assert "7" not in [label.get_text() for label in ax.get_yticklabels()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"low": np.zeros((2, 1))}, "low and high must be given together"),
        ({"low": np.zeros((1, 1)), "high": np.zeros((2, 1))}, "low must be a matrix of rows by features, \\(2, 1\\)"),
        ({"features": [1]}, "features must be from 0 to 0, got 1"),
    ],
)
def test_activations_refuse_what_does_not_fit(ax, options, message):
    with pytest.raises(ValueError, match=message):
        plots.activations([[0.5], [0.5]], ax=ax, **options)


def test_probabilities_must_be_some(ax):
    with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5"):
        plots.activations([[1.5]], ax=ax)


def test_weights_are_squares_of_the_right_area_and_sign(ax):
    W = np.array([[1.0, -0.25], [0.0, 0.5]])
    plots.weights(W, column_names=["a", "b"], ax=ax)
    positive, negative = ax.collections
    areas = [path.get_extents() for path in positive.get_paths()]
    np.testing.assert_allclose([box.width * box.height / 0.92**2 for box in areas], [1.0, 0.5])
    (box,) = (path.get_extents() for path in negative.get_paths())
    assert box.width * box.height / 0.92**2 == pytest.approx(0.25)
    assert ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2) == pytest.approx((1.0, 0.0))
    grey = [np.dot(c.get_facecolor()[0][:3], [0.299, 0.587, 0.114]) for c in (positive, negative)]
    assert grey[1] - grey[0] > 0.3
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b"]
    assert legend(ax) == ["positive, up to 1", "negative, down to -0.25"]


def test_many_weights_are_a_heat_map_that_gets_lighter(ax):
    W = np.random.default_rng(0).normal(size=(60, 60))
    plots.weights(W, ax=ax)
    np.testing.assert_array_equal(pixels(ax), W)
    low, high = ax.images[0].get_clim()
    assert low == -high == -np.abs(W).max()


def test_weights_of_a_posterior_and_of_nothing(ax, posterior):
    plots.weights(posterior, ax=ax)
    assert sum(len(c.get_paths()) for c in ax.collections) == posterior.map().W.size
    assert plots.weights(np.zeros((0, 3)), ax=Figure().add_subplot()).texts[0].get_text() == "empty"
    with pytest.raises(ValueError, match="column_names must have 2 entries, got 1"):
        plots.weights(np.ones((1, 2)), column_names=["a"])
    with pytest.raises(ValueError, match="finite matrix"):
        plots.weights([[np.nan]])


def test_reconstruction_shows_data_mean_band_and_imputed_entries(ax, posterior):
    plots.reconstruction(posterior, 1, name="mass", ax=ax)
    t, X = posterior.context["covariates"], posterior.observed[:, 1]
    curve, dots = ax.lines[:2]
    rows = np.argsort(t)
    mean, sd = (x[rows, 1] for x in posterior.reconstruction())
    np.testing.assert_allclose(curve.get_xydata(), np.column_stack([t[rows], mean]))
    there = ~posterior.missing[:, 1]
    np.testing.assert_array_equal(dots.get_xydata(), np.column_stack([t, X])[there])
    edges = ax.collections[0].get_paths()[0].vertices
    np.testing.assert_allclose(edges[:, 1].max(), (mean + 2 * sd).max())
    (bars,) = ax.containers
    imputed = posterior.imputations(0.9)
    own = imputed.columns == 1
    np.testing.assert_array_equal(bars.lines[0].get_ydata(), imputed.mean[own])
    arms = np.array([segment[:, 1] for segment in bars.lines[2][0].get_segments()])
    np.testing.assert_allclose(arms, np.column_stack([imputed.low[own], imputed.high[own]]))
    assert legend(ax) == ["observed", "reconstruction", "± 2 sd", "imputed, with 90 % interval"]
    assert ax.get_ylabel() == "mass"


def test_reconstruction_without_holes_or_covariate(ax):
    plots.reconstruction(make_posterior(10, 2, 1, missing=0.0, covariates=None), ax=ax)
    assert legend(ax) == ["observed", "reconstruction", "± 2 sd"]
    assert ax.get_xlabel() == "row"


def test_reconstruction_refuses_other_things(posterior):
    with pytest.raises(ValueError, match="output must be from 0 to 2, got 3"):
        plots.reconstruction(posterior, 3)
    with pytest.raises(TypeError, match=r"must be a ddibp\.Posterior, got ndarray"):
        plots.reconstruction(np.eye(3))


def test_held_out_counts_what_intervals_hold(ax):
    truth, mean = np.array([1.0, 2.0, 3.0, np.nan]), np.array([1.5, 2.0, 2.0, 9.0])
    plots.held_out(truth, mean, low=mean - 0.6, high=mean + 0.6, probability=0.8, ax=ax)
    said = legend(ax)
    assert said[0] == "80 % intervals: 67 % of 3 hold the truth"
    assert f"{np.sqrt((0.25 + 1.0) / 3):.3g}" in said[2]
    inside, outside = ax.lines[:2]
    np.testing.assert_array_equal(inside.get_xydata(), [[1.0, 1.5], [2.0, 2.0]])
    np.testing.assert_array_equal(outside.get_xydata(), [[3.0, 2.0]])
    np.testing.assert_allclose(ax.collections[0].get_segments()[0], [[1.0, 0.9], [1.0, 2.1]])


def test_held_out_entries_of_a_posterior(ax, posterior):
    truth = np.where(posterior.missing, 0.5, -100.0)
    plots.held_out(truth, posterior, ax=ax)
    imputed = posterior.imputations()
    drawn = np.concatenate([line.get_ydata() for line in ax.lines[:2]])
    np.testing.assert_allclose(np.sort(drawn), np.sort(imputed.mean))
    held = np.mean((imputed.low <= 0.5) & (imputed.high >= 0.5))
    assert f"{100 * held:.0f} % of {len(imputed.mean)} hold" in legend(ax)[0]


@pytest.mark.parametrize(
    ("truth", "options", "message"),
    [
        ([np.nan], {}, "at least one entry that was held out"),
        ([1.0, 2.0], {}, r"predicted must have the shape of truth, \(2,\), got \(1,\)"),
        ([1.0], {"low": [0.0]}, "low and high must be given together"),
    ],
)
def test_held_out_refuses_what_does_not_fit(ax, truth, options, message):
    with pytest.raises(ValueError, match=message):
        plots.held_out(truth, [1.0], ax=ax, **options)


def test_trace_has_a_line_per_chain(ax, posterior):
    plots.trace(posterior, "alpha", ax=ax)
    for chain, line in enumerate(ax.lines):
        np.testing.assert_array_equal(line.get_ydata(), posterior.data["posterior"]["alpha"][chain])
    assert legend(ax) == ["chain 0", "chain 1"]
    with pytest.raises(ValueError, match=r"name must be one of .*log_joint.*; got 'gamma'"):
        plots.trace(posterior, "gamma")
    with pytest.raises(ValueError, match="shape"):
        plots.trace(np.zeros(3))


def test_ranks_are_counted_among_all_chains(ax):
    x = np.stack([np.arange(100.0), np.arange(100.0, 200.0)])
    plots.rank(x, "x", bins=10, ax=ax)
    low, high = (patch.get_data().values for patch in ax.patches)
    np.testing.assert_array_equal(low, [20.0] * 5 + [0.0] * 5)
    np.testing.assert_array_equal(high, [0.0] * 5 + [20.0] * 5)
    assert ax.lines[0].get_ydata()[0] == 10.0
    styles = {(patch.get_linestyle(), patch.get_edgecolor()) for patch in ax.patches}
    assert len({style for style, _ in styles}) == 2


def test_ties_are_shared_out_evenly(ax):
    """Chi-square of 2 x 10 counts, 10 degrees of freedom: beyond 60 once in 10^8 seeds."""
    plots.rank(np.zeros((2, 5000)), bins=10, ax=ax)
    counts = np.array([patch.get_data().values for patch in ax.patches])
    assert ((counts - 500.0) ** 2 / 500.0).sum() < 60.0


def test_the_law_of_the_number_of_features_has_bars_and_a_mark_per_chain(ax):
    K = np.array([[2, 2, 4, 4], [4, 4, 4, 4]])
    plots.features_law(K, ax=ax)
    assert [bar.get_height() for bar in ax.patches] == [0.25, 0.0, 0.75]
    assert [bar.get_x() + bar.get_width() / 2 for bar in ax.patches] == [2.0, 3.0, 4.0]
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], [[0.5, 0.0, 0.5], [0.0, 0.0, 1.0]])
    assert len({line.get_marker() for line in ax.lines}) == 2
    assert ax.lines[0].get_xdata()[2] < 4.0 < ax.lines[1].get_xdata()[2]
    with pytest.raises(ValueError, match="whole numbers"):
        plots.features_law([0.5])


def test_the_law_of_a_posterior(ax, posterior):
    plots.features_law(posterior, ax=ax)
    assert [bar.get_height() for bar in ax.patches] == list(posterior.n_features_law().values())


def test_decay_of_a_posterior_has_its_quantiles(ax, posterior):
    plots.decay_posterior(posterior, max_distance=3.0, probability=0.5, ax=ax)
    beta = posterior.data["posterior"]["beta"].to_numpy().ravel()
    curves = np.exp(-np.outer(beta, np.linspace(0.0, 3.0, 301)))
    by_label = {line.get_label(): line for line in ax.lines}
    np.testing.assert_allclose(by_label["posterior median"].get_ydata(), np.median(curves, axis=0))
    np.testing.assert_allclose(by_label["at the prior mean"].get_ydata(), np.exp(-0.5 * np.linspace(0.0, 3.0, 301)))
    edges = ax.collections[0].get_paths()[0].vertices
    at_end = edges[edges[:, 0] == 3.0][:, 1]
    np.testing.assert_allclose([at_end.min(), at_end.max()], np.quantile(curves[:, -1], [0.25, 0.75]))
    assert legend(ax)[1] == "50 % band"


def test_a_fixed_decay_is_drawn_as_it_is(ax):
    fixed = make_posterior(5, 1, 1, prior=DDIBP(Window(2.0), sequential=True))
    plots.decay_posterior(fixed, ax=ax)
    assert len(ax.lines) == 1
    with pytest.raises(ValueError, match="prior with a decay or a named kernel; IBP"):
        plots.decay_posterior(make_posterior(5, 1, 1, prior=IBP(Gamma())))


def test_places_have_no_single_covariate(ax):
    places = make_posterior(12, 2, 2, covariates=np.random.default_rng(0).random((12, 2)))
    plots.feature_matrix(places, ax=ax)
    np.testing.assert_array_equal(pixels(ax), places.map().Z)
    assert ax.get_ylabel() == "row"


@pytest.mark.parametrize(
    "draw",
    [
        plots.feature_matrix,
        plots.sharing_matrix,
        plots.activations,
        plots.weights,
        plots.reconstruction,
        plots.decay_posterior,
        plots.trace,
        plots.rank,
        plots.features_law,
        lambda p, ax: plots.held_out(np.zeros(p.observed.shape), p, ax=ax),
    ],
)
def test_every_picture_of_a_posterior_can_be_saved(draw, ax, posterior, tmp_path):
    assert draw(posterior, ax=ax) is ax
    ax.figure.savefig(tmp_path / "picture.png", dpi=40)
    assert (tmp_path / "picture.png").stat().st_size > 1000
