"""LatentFeatures in scikit-learn's own checks, and in every tool that people use it with."""

from __future__ import annotations

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ddibp import (
    DDIBP,
    IBP,
    Exponential,
    Gamma,
    LatentFeatureImputer,
    LatentFeatures,
    LinearGaussian,
    Proximity,
    _tables,
    estimators,
    prediction,
)

TINY = {"draws": 3, "tune": 3, "chains": 1}
SHORT = {"draws": 30, "tune": 60, "chains": 1}
PRIOR = DDIBP(Exponential(0.5), sequential=True)


@parametrize_with_checks(
    [
        LatentFeatures(**TINY),
        LatentFeatures("ibp", LinearGaussian(1.0, 1.0, collapsed=False), **TINY, scale="standardize"),
        LatentFeatureImputer(**TINY),
        LatentFeatureImputer(**TINY, scale=None),
    ]
)
@pytest.mark.filterwarnings("ignore:The standard deviations of the columns")
def test_checks_of_scikit_learn(estimator, check):
    """All of them, with no exemption."""
    check(estimator)


def table(n_rows=40, seed=0):
    """Return data with two features that come and go in time, times, and one of the features as labels."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 20.0, n_rows)
    Z = np.column_stack([t > 8.0, (t > 4.0) & (t < 14.0)])
    X = Z @ np.array([[3.0, -2.0, 0.0], [0.0, 2.0, 3.0]]) + 0.2 * rng.normal(size=(n_rows, 3))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, t, Z[:, 1].astype(int)


def frame(n_rows=40):
    """Return the same as a data frame with dates, and the labels."""
    X, t, y = table(n_rows)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(t, unit="D")
    return pd.DataFrame({"north": X[:, 0], "day": days, "east": X[:, 1], "up": X[:, 2]}), y


# -- what is fitted ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, t, _ = table()
    return LatentFeatures(PRIOR, LinearGaussian(0.2, 2.0), **SHORT).fit(X, covariates=t)


def test_features_weights_and_reconstruction(fitted):
    X, _, _ = table()
    assert fitted.features_.shape == (40, fitted.n_features_)
    assert fitted.features_.dtype == bool
    assert fitted.weights_.shape == (fitted.n_features_, 3)
    seen = ~np.isnan(X)
    assert np.sqrt(np.mean((fitted.inverse_transform(fitted.features_) - X)[seen] ** 2)) < 0.3
    best = fitted.posterior_.map()
    assert np.array_equal(fitted.features_, best.Z)
    gram = best.Z.T.astype(float) @ best.Z
    if not np.isnan(X).any():
        np.testing.assert_allclose(fitted.weights_, np.linalg.solve(gram + 0.01 * np.eye(len(gram)), best.Z.T @ X))


def test_transform_and_score_are_those_of_prediction(fitted):
    X, t, _ = table(15, seed=3)
    found = prediction.extend(fitted.posterior_, X, t)
    assert np.array_equal(fitted.transform(X, covariates=t), found.probabilities)
    density = prediction.predict(fitted.posterior_, X, t).log_density
    assert fitted.score(X, covariates=t) == pytest.approx(density.mean(), rel=1e-12)
    draws = fitted.sample_features(X, t, n_draws=4000)
    assert draws.shape == (4000, 15, fitted.n_features_)
    np.testing.assert_allclose(draws.mean(axis=0), found.probabilities, atol=0.06)


def test_rows_without_data_are_predicted(fitted):
    p = fitted.transform(np.full((2, 3), np.nan), covariates=[20.5, 1000.0])
    assert p[0].max() > 0.5
    assert p[1].max() < 1e-6


def test_rows_may_come_in_any_order():
    X, t, _ = table()
    order = np.random.default_rng(1).permutation(len(t))
    model = LatentFeatures(PRIOR, **SHORT)
    sorted_, mixed = clone(model).fit(X, covariates=t), clone(model).fit(X[order], covariates=t[order])
    assert np.array_equal(mixed.features_, sorted_.features_[order])
    assert np.array_equal(mixed.weights_, sorted_.weights_)
    assert np.array_equal(order[mixed.row_order_], np.arange(len(t)))
    assert np.array_equal(mixed.posterior_.observed, X, equal_nan=True)
    assert np.array_equal(mixed.transform(X[order], t[order]), sorted_.transform(X, t)[order])


def test_ties_keep_the_order_of_rows():
    X, _, _ = table(6)
    model = LatentFeatures(PRIOR, **TINY).fit(X, covariates=[2.0, 1.0, 2.0, 1.0, 2.0, 0.0])
    assert model.row_order_.tolist() == [5, 1, 3, 0, 2, 4]
    free = LatentFeatures(DDIBP(Exponential(0.5)), **TINY).fit(X, covariates=[2.0, 1.0, 2.0, 1.0, 2.0, 0.0])
    assert free.row_order_.tolist() == list(range(6))


def test_several_covariates_and_distances():
    X, t, _ = table(12)
    places = np.column_stack([t, t**2])
    model = LatentFeatures(DDIBP(Exponential(0.1)), **TINY).fit(X, covariates=places)
    assert model.transform(X[:2], covariates=places[:2]).shape[0] == 2
    D = np.abs(t[:, None] - t)
    prior = DDIBP(Exponential(0.1), metric="precomputed")
    given = LatentFeatures(prior, **TINY).fit(X, covariates=D)
    plain = LatentFeatures(DDIBP(Exponential(0.1)), **TINY).fit(X, covariates=t)
    np.testing.assert_allclose(given.transform(X[:3], D[:3]), plain.transform(X[:3], t[:3]), rtol=1e-12)
    ready = LatentFeatures(prior, **TINY).fit(X, covariates=Proximity.from_distances(D, Exponential(0.1)))
    assert np.array_equal(ready.features_, given.features_)


def test_scaling_changes_units_only():
    X, t, _ = table()
    factor, shift = np.array([1000.0, 1.0, 0.01]), np.array([50.0, -3.0, 0.0])
    other = X * factor + shift
    model = LatentFeatures(PRIOR, **SHORT, scale="standardize")
    a, b = clone(model).fit(X, covariates=t), clone(model).fit(other, covariates=t)
    assert np.array_equal(a.features_, b.features_)
    np.testing.assert_allclose(b.weights_, a.weights_ * factor, rtol=1e-6)
    np.testing.assert_allclose(b.inverse_transform(b.features_), a.inverse_transform(a.features_) * factor + shift)
    complete = np.nan_to_num(X)
    shifted = complete * factor + shift
    assert b.score(shifted, None, t) == pytest.approx(a.score(complete, None, t) - np.log(factor).sum(), abs=1e-6)
    part = complete.copy()
    part[:, 1:] = np.nan
    gap = a.score(part, None, t) - b.score(part * factor + shift, None, t)
    assert gap == pytest.approx(np.log(1000.0), abs=1e-6)


def test_center_takes_the_means_out():
    X, t, _ = table()
    model = LatentFeatures(PRIOR, **TINY, scale="center").fit(X, covariates=t)
    np.testing.assert_allclose(model.center_, np.nanmean(X, axis=0))
    np.testing.assert_allclose(np.nanmean(model.posterior_.observed, axis=0), 0.0, atol=1e-12)
    assert np.array_equal(model.scale_, np.ones(3))


def test_columns_of_different_scales_are_told():
    X, t, _ = table()
    X = X * [1.0, 1e-3, 1.0]
    data = pd.DataFrame(X, columns=["a", "small", "c"])
    with pytest.warns(UserWarning, match=r"from 0.0014 \(small\) to .* scale='standardize'"):
        LatentFeatures(PRIOR, **TINY).fit(data, covariates=t)
    LatentFeatures(PRIOR, **TINY, scale="standardize").fit(data, covariates=t)  # a warning is an error in these tests


def test_constant_and_empty_columns():
    X, t, _ = table()
    X[:, 1], X[:, 2] = 5.0, np.nan
    model = LatentFeatures(PRIOR, **TINY, scale="standardize").fit(X, covariates=t)
    assert model.scale_[1:].tolist() == [1.0, 1.0]
    assert np.isfinite(model.transform(X, covariates=t)).all()


# -- priors by default and by name -------------------------------------------------------------------------------------


def test_the_default_prior_follows_the_covariates():
    X, t, _ = table()
    assert LatentFeatures(**TINY).fit(X).prior_ == IBP()
    prior = LatentFeatures(**TINY).fit(X, covariates=t).prior_
    assert prior == estimators.default_prior(t)
    assert isinstance(prior.decay.beta, Gamma)
    assert 1.0 < prior.decay.beta.rate < 5.0
    assert LatentFeatures("ibp", **TINY).fit(X, covariates=t).prior_ == IBP()
    assert LatentFeatures("ddibp", **TINY).fit(X, covariates=t).prior_ == prior
    np.testing.assert_allclose(LatentFeatures(**TINY).fit(X).likelihood_.sigma_x.mean, np.nanstd(X))


def test_parameters_reach_into_priors():
    model = LatentFeatures(PRIOR)
    assert model.get_params()["prior__decay__beta"] == 0.5
    model.set_params(prior__decay__beta=2.0, prior__alpha=3.0, draws=7)
    assert model.prior == DDIBP(Exponential(2.0), alpha=3.0, sequential=True)
    assert PRIOR.decay.beta == 0.5
    assert model.draws == 7
    named = LatentFeatures("ddibp").set_params(prior__decay__beta=0.2)
    assert named.prior == DDIBP(Exponential(0.2))
    both = LatentFeatures().set_params(prior=DDIBP(), prior__decay__beta=0.2)
    assert both.prior.decay == Exponential(0.2)
    assert LatentFeatures(likelihood=LinearGaussian()).set_params(likelihood__sigma_x=0.1).likelihood.sigma_x == 0.1
    with pytest.raises(ValueError, match="prior is None, which has no parameter 'decay__beta'"):
        LatentFeatures().set_params(prior__decay__beta=0.2)
    with pytest.raises(ValueError, match="IBP has no parameter 'decay'"):
        LatentFeatures(IBP()).set_params(prior__decay__beta=0.2)
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        LatentFeatures().set_params(nonsense=1)


def test_clones_and_pickles():
    X, t, _ = table()
    model = LatentFeatures(PRIOR, LinearGaussian(), **TINY)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    fitted = model.fit(X, covariates=t)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(X, t), fitted.transform(X, t))
    assert again.posterior_.n_draws == 3


@pytest.mark.parametrize("make", [lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3)])
def test_random_states_reproduce(make):
    X, t, _ = table(15)
    first, second = (LatentFeatures(PRIOR, **SHORT, random_state=make()).fit(X, covariates=t) for _ in range(2))
    assert np.array_equal(first.features_, second.features_)
    assert np.array_equal(first.weights_, second.weights_)
    assert np.array_equal(first.sample_features(X, t, n_draws=3), second.sample_features(X, t, n_draws=3))
    other = LatentFeatures(PRIOR, **SHORT, random_state=4).fit(X, covariates=t)
    assert not np.array_equal(other.weights_, first.weights_)
    parallel = LatentFeatures(PRIOR, **{**SHORT, "chains": 2}, n_jobs=2, random_state=make()).fit(X, covariates=t)
    alone = LatentFeatures(PRIOR, **{**SHORT, "chains": 2}, random_state=make()).fit(X, covariates=t)
    assert np.array_equal(parallel.weights_, alone.weights_)


def test_no_random_state_draws_anew():
    X, t, _ = table(15)
    seeds = {LatentFeatures(PRIOR, **TINY, random_state=None).fit(X, covariates=t).seed_ for _ in range(3)}
    assert len(seeds) == 3


def test_a_decay_that_is_a_function():
    X, t, _ = table(15)
    model = LatentFeatures(DDIBP(halving), **TINY).fit(X, covariates=t)
    assert np.isfinite(model.score(X, covariates=t))


def halving(d):
    return 0.5**d


# -- tables ------------------------------------------------------------------------------------------------------------


def test_covariate_columns_by_name_and_position():
    data, _ = frame()
    days = (data["day"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    outside = LatentFeatures(PRIOR, **SHORT).fit(data.drop(columns="day"), covariates=data["day"])
    np.testing.assert_allclose(outside.posterior_.context["covariates"], days, rtol=1e-15)
    for columns in ("day", ["day"], 1, [-3], slice(1, 2), slice("day", 2)):
        model = LatentFeatures(PRIOR, **SHORT, covariate_columns=columns).fit(data)
        assert np.array_equal(model.features_, outside.features_)
        assert np.array_equal(model.transform(data), outside.transform(data.drop(columns="day"), data["day"]))
        assert model.feature_names_in_.tolist() == ["north", "day", "east", "up"]
        assert model.n_features_in_ == 4
        assert model.weights_.shape[1] == 3
    array = np.column_stack([data["north"], days, data[["east", "up"]]])
    by_position = LatentFeatures(PRIOR, **SHORT, covariate_columns=1).fit(array)
    assert np.array_equal(by_position.features_, outside.features_)
    polars = LatentFeatures(PRIOR, **SHORT, covariate_columns="day").fit(pl.from_pandas(data))
    assert np.array_equal(polars.features_, outside.features_)
    listed = LatentFeatures(PRIOR, **SHORT, covariate_columns=1).fit(array.tolist())
    assert np.array_equal(listed.features_, outside.features_)


DAYS = [18262.0, 18263.5]


@pytest.mark.parametrize(
    "moments",
    [
        np.array(["2020-01-01", "2020-01-02T12"], "datetime64[s]"),
        pd.Series(pd.to_datetime(["2020-01-01 00:00", "2020-01-02 12:00"])),
        pd.Series(pd.to_datetime(["2020-01-01 02:00+02:00", "2020-01-02 14:00+02:00"])),
        pd.to_datetime(["2020-01-01 00:00", "2020-01-02 12:00"]),
        pl.Series([datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2, 12)]),
        ["2020-01-01", "2020-01-02 12:00"],
        np.array(["2020-01-01", "2020-01-02T12:00"], object),
        [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2, 12)],
        [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02 12:00")],
        pd.Series([pd.Period("2020-01-01 00", "h"), pd.Period("2020-01-02 12", "h")]),
        np.array([18262 * 24, 18263 * 24 + 12], "timedelta64[h]"),
        pd.Series(DAYS),
        pd.Series(["18262", "18263.5"]),
        pd.DataFrame({"t": DAYS})["t"],
    ],
    ids=lambda moments: f"{type(moments).__module__}.{type(moments).__name__}",
)
def test_dates_times_and_durations_count_in_days(moments):
    np.testing.assert_allclose(_tables.as_covariates(moments), DAYS, rtol=1e-15)


def test_a_frame_of_covariates_is_several_columns():
    data = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-03"]), "age": [3, 4]})
    expected = [[18262.0, 3.0], [18264.0, 4.0]]
    assert _tables.as_covariates(data).tolist() == expected
    assert _tables.as_covariates(pl.from_pandas(data)).tolist() == expected
    assert _tables.as_covariates(data.to_numpy()).tolist() == expected
    assert _tables.as_covariates([[1, 2], [3, 4]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output(kind):
    data, _ = frame()
    model = LatentFeatures(PRIOR, **SHORT, covariate_columns="day").set_output(transform=kind)
    out = model.fit_transform(data)
    names = [f"latentfeatures{k}" for k in range(model.n_features_)]
    assert isinstance(out, pd.DataFrame if kind == "pandas" else pl.DataFrame)
    assert list(out.columns) == names
    assert model.get_feature_names_out().tolist() == names
    if kind == "pandas":
        data.index = [f"row {i}" for i in range(len(data))]
        assert model.transform(data).index.equals(data.index)


# -- pipelines and searches --------------------------------------------------------------------------------------------


def test_in_a_pipeline_with_covariates_in_the_table():
    data, y = frame(60)
    model = make_pipeline(
        LatentFeatures(PRIOR, **SHORT, covariate_columns="day", random_state=1), LogisticRegression(C=100.0)
    )
    assert cross_val_score(model, data, y, cv=KFold(3, shuffle=True, random_state=0)).mean() > 0.7


def test_in_a_column_transformer():
    data, _ = frame()
    data["kind"] = 1.0
    columns = ColumnTransformer(
        [("latent", LatentFeatures(PRIOR, **SHORT, covariate_columns=["day"]), ["north", "east", "day"])],
        remainder="passthrough",
    ).set_output(transform="pandas")
    out = columns.fit_transform(data)
    assert list(out.columns)[-2:] == ["remainder__up", "remainder__kind"]
    assert out.columns[0] == "latent__latentfeatures0"


def test_grid_search_over_the_decay():
    X, t, _ = table(48)
    X[::2, 1:] = np.nan
    data = np.column_stack([t, X])
    model = LatentFeatures(PRIOR, LinearGaussian(0.2, 2.0), **SHORT, covariate_columns=0)
    betas = [0.5, 1000.0]
    search = GridSearchCV(model, {"prior__decay__beta": betas}, cv=KFold(2, shuffle=True, random_state=0)).fit(data)
    assert search.best_params_ == {"prior__decay__beta": 0.5}
    assert search.best_estimator_.prior_.decay == Exponential(0.5)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert model.prior == PRIOR  # a value is not changed by others' grids
    priors = GridSearchCV(model.set_params(**TINY), {"prior": [IBP(), PRIOR]}, cv=2).fit(data)
    assert set(priors.cv_results_["param_prior"]) == {IBP(), PRIOR}


def test_metadata_routing():
    X, t, y = table(40)
    with sklearn.config_context(enable_metadata_routing=True):
        model = LatentFeatures(PRIOR, **SHORT).set_fit_request(covariates=True).set_transform_request(covariates=True)
        pipeline = make_pipeline(StandardScaler(), model, LogisticRegression())
        pipeline.fit(X, y, covariates=t)
        assert np.array_equal(pipeline[1].posterior_.context["covariates"], t)
        assert pipeline.predict(X, covariates=t).shape == (40,)
        found = cross_validate(pipeline, X, y, params={"covariates": t}, cv=2, return_estimator=True)
        assert all(len(e[1].posterior_.observed) == 20 for e in found["estimator"])
        alone = LatentFeatures(PRIOR, **SHORT).set_fit_request(covariates=True).set_score_request(covariates=True)
        scores = cross_validate(alone, X, params={"covariates": t}, cv=2)["test_score"]
        assert np.isfinite(scores).all()
        search = GridSearchCV(alone, {"prior__decay__beta": [0.5, 5.0]}, cv=2).fit(X, covariates=t)
        assert search.best_estimator_.n_features_ >= 0
        assert "Z" not in alone.get_metadata_routing()._serialize().get("inverse_transform", {})


# -- what goes wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["x"], "covariate_columns names 'x', which is not there; there are north, day, east, up"),
        (7, "covariate_columns holds position 7, but X has 4 columns"),
        ([], "covariate_columns must name a column at least"),
        ("nought", "which is not there"),
        (["day", 1], "must name a column once"),
        (slice(0, 4), "leaves no column of data"),
        (slice(2, 2), "must name a column at least"),
    ],
)
def test_wrong_covariate_columns(columns, message):
    with pytest.raises(ValueError, match=message):
        LatentFeatures(PRIOR, **TINY, covariate_columns=columns).fit(frame()[0])


def test_kind_errors(fitted):
    X, t, _ = table()
    data, _ = frame()
    with pytest.raises(TypeError, match="must hold names or positions of columns, got True"):
        LatentFeatures(PRIOR, **TINY, covariate_columns=[True]).fit(data)
    with pytest.raises(ValueError, match="X is not a data frame; give positions"):
        LatentFeatures(PRIOR, **TINY, covariate_columns="day").fit(X)
    with pytest.raises(ValueError, match="table of rows by columns"):
        LatentFeatures(PRIOR, **TINY, covariate_columns=0).fit(t)
    with pytest.raises(ValueError, match="names 'a', which is there 2 times"):
        _tables.split(pd.DataFrame(X, columns=["a", "a", "b"]), "a")
    with pytest.raises(ValueError, match="beside covariate_columns"):
        LatentFeatures(PRIOR, **TINY, covariate_columns="day").fit(data, covariates=t)
    for prior in (PRIOR, "dhbp"):
        with pytest.raises(ValueError, match=r"covariates must be given for the prior D.*covariate_columns="):
            LatentFeatures(prior, **TINY).fit(X)
    with pytest.raises(ValueError, match="covariates describe 3 rows, but X has 40"):
        LatentFeatures(PRIOR, **TINY).fit(X, covariates=t[:3])
    with pytest.raises(ValueError, match="scale must be one of None, 'center', 'standardize'"):
        LatentFeatures(PRIOR, **TINY, scale="minmax").fit(X, covariates=t)
    with pytest.raises(ValueError, match=r"prior must be one of .*; got 'buffet'"):
        LatentFeatures("buffet", **TINY).fit(X)
    with pytest.raises(TypeError, match="prior must be one of ddibp's"):
        LatentFeatures(3, **TINY).fit(X, covariates=t)
    with pytest.raises(ValueError, match="random_state must be a non-negative int"):
        LatentFeatures(PRIOR, **TINY, random_state=-1).fit(X, covariates=t)
    with pytest.raises(TypeError, match="random_state must be None, a non-negative int"):
        LatentFeatures(PRIOR, **TINY, random_state="luck").fit(X, covariates=t)
    with pytest.raises(ValueError, match="draws must be at least 1"):
        LatentFeatures(PRIOR, draws=0).fit(X, covariates=t)
    with pytest.raises(TypeError, match="covariates must be numbers, dates or times, got 'soon'"):
        LatentFeatures(PRIOR, **TINY).fit(X[:2], covariates=["soon", "late"])
    with pytest.raises(TypeError, match="got complex ones"):
        LatentFeatures(PRIOR, **TINY).fit(X[:2], covariates=[1j, 2.0])
    with pytest.raises(ValueError, match=r"covariates must not be missing, but row 1 has none \(column 'day'\)"):
        LatentFeatures(PRIOR, **TINY, covariate_columns="day").fit(data.assign(day=[data["day"][0]] + [None] * 39))
    with pytest.raises(ValueError, match="covariates are the same in all rows"):
        LatentFeatures(**TINY).fit(X, covariates=np.ones(40))
    with pytest.raises(ValueError, match="prior must be given beside covariates that are a Proximity"):
        LatentFeatures(**TINY).fit(X, covariates=PRIOR.proximity(t))
    with pytest.raises(ValueError, match="columns of one value per row"):
        LatentFeatures(PRIOR, **TINY).fit(X, covariates=np.ones((40, 1, 1)))
    with pytest.raises(ValueError, match="covariates must be given, as they were"):
        fitted.transform(X)
    with pytest.raises(ValueError, match="covariates describe 3 rows, but X has 40"):
        fitted.transform(X, covariates=t[:3])
    with pytest.raises(ValueError, match="does not hold the covariates"):
        LatentFeatures(PRIOR, **TINY).fit(X, covariates=PRIOR.proximity(t)).transform(X, covariates=t)
    with pytest.raises(ValueError, match="Z has 9 columns, but there are"):
        fitted.inverse_transform(np.ones((2, 9)))
    with pytest.raises(ValueError, match="n_draws must be at least 1"):
        fitted.sample_features(X, t, n_draws=0)
