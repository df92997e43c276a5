"""LatentFeatureImputer: what is observed stays, what is missing is near the truth, and every tool takes it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from ddibp import DDIBP, IBP, Exponential, LatentFeatureImputer, LatentFeatures, LinearGaussian

TINY = {"draws": 3, "tune": 3, "chains": 1}
SHORT = {"draws": 100, "tune": 100, "chains": 2}
PRIOR = DDIBP(Exponential(0.5), sequential=True)


def holes(n_rows=50, seed=0):
    """Return data with holes, the data without, and times."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 20.0, n_rows)
    Z = np.column_stack([t > 8.0, (t > 4.0) & (t < 14.0), np.ones(n_rows)])
    W = np.array([[30.0, -2.0, 0.0, 1.0], [0.0, 2.0, 3.0, 1.0], [100.0, 5.0, 0.0, -2.0]])
    full = Z @ W + rng.normal(scale=[2.0, 0.2, 0.2, 0.1], size=(n_rows, 4))
    X = np.where(rng.random(full.shape) < 0.15, np.nan, full)
    X[20] = np.nan
    return X, full, t


@pytest.fixture(scope="module")
def fitted():
    X, _, t = holes()
    return LatentFeatureImputer(PRIOR, **SHORT).fit(X, covariates=t)


def relative_error(filled, full, X):
    """Return the root mean squared error of what was missing, in standard deviations of the columns."""
    missing = np.isnan(X)
    return np.sqrt(np.mean(((filled - full) / np.nanstd(X, axis=0))[missing] ** 2))


def test_observed_entries_are_kept_bit_for_bit(fitted):
    X, full, t = holes()
    filled = fitted.transform(X, covariates=t)
    seen = ~np.isnan(X)
    assert filled[seen].tobytes() == X[seen].tobytes()
    assert not np.isnan(filled).any()
    new, _, later = holes(30, seed=5)
    seen = ~np.isnan(new)
    assert fitted.transform(new, covariates=later)[seen].tobytes() == new[seen].tobytes()
    assert fitted.transform(full, covariates=t).tobytes() == full.tobytes()


def test_missing_entries_are_near_the_truth(fitted):
    X, full, t = holes()
    error = relative_error(fitted.transform(X, covariates=t), full, X)
    assert error < 0.5 * relative_error(SimpleImputer().fit_transform(X), full, X)
    new, truth, later = holes(40, seed=7)
    assert relative_error(fitted.transform(new, covariates=later), truth, new) < 0.6


def test_the_fitted_table_has_its_posterior_means(fitted):
    X, _, t = holes()
    best = fitted.posterior_.completed() * fitted.scale_ + fitted.center_
    np.testing.assert_allclose(fitted.transform(X, covariates=t), best, rtol=1e-12)
    again = clone(fitted).fit_transform(X, covariates=t)
    assert np.array_equal(again, fitted.transform(X, covariates=t))
    rows = fitted.transform(X[:10], covariates=t[:10])  # rows alone are new ones
    missing = np.isnan(X[:10])
    assert not np.array_equal(rows, again[:10])
    assert (np.abs(rows - again[:10])[missing] < 5.0 * fitted.imputation_sd_[:10][missing]).all()


def test_rows_in_any_order_come_back_in_theirs():
    X, _, t = holes()
    order = np.random.default_rng(2).permutation(len(t))
    model = LatentFeatureImputer(PRIOR, **TINY)
    sorted_, mixed = clone(model).fit(X, covariates=t), clone(model).fit(X[order], covariates=t[order])
    np.testing.assert_allclose(
        mixed.transform(X[order], t[order]), sorted_.transform(X, t)[order], rtol=1e-12
    )  # means and scales of columns are sums, taken in another order
    np.testing.assert_allclose(mixed.imputation_sd_, sorted_.imputation_sd_[order], rtol=1e-9)
    for a, b in zip(mixed.imputation_interval(), sorted_.imputation_interval(), strict=True):
        np.testing.assert_allclose(a, b[order], rtol=1e-9)
    np.testing.assert_allclose(
        mixed.sample_imputations(n_draws=3), sorted_.sample_imputations(n_draws=3)[:, order], rtol=1e-9
    )


@pytest.mark.parametrize("new", [False, True], ids=["fitted", "new"])
def test_draws_intervals_and_standard_deviations_agree(fitted, new):
    X, _, t = holes()
    if new:
        X, _, t = holes(30, seed=9)
    mean = fitted.transform(X, covariates=t)
    given = (X, t) if new else ()
    tables = fitted.sample_imputations(*given, n_draws=200)
    missing = np.isnan(X)
    assert tables.shape == (200, *X.shape)
    assert all(np.array_equal(table[~missing], X[~missing]) for table in tables)
    low, high = fitted.imputation_interval(*given, probability=0.9)
    assert np.array_equal(low[~missing], X[~missing])
    assert (low[missing] < high[missing]).all()
    inside = (tables >= low) & (tables <= high)
    assert 0.85 < inside[:, missing].mean() < 0.95
    sd = tables.std(axis=0)
    if not new:
        np.testing.assert_allclose(fitted.imputation_sd_[missing], sd[missing] * np.sqrt(200 / 199), rtol=1e-6)
        assert not fitted.imputation_sd_[~missing].any()
    # 84 or so comparisons of means of 200 draws, of which some are correlated within a chain.
    assert (np.abs(tables.mean(axis=0) - mean)[missing] < 6.0 * sd[missing] / np.sqrt(200 / (1 if new else 20))).all()


def test_intervals_hold_the_truth(fitted):
    X, full, _ = holes()
    missing = np.isnan(X)
    low, high = fitted.imputation_interval(probability=0.9)
    assert ((low <= full) & (full <= high))[missing].mean() > 0.75
    narrow = fitted.imputation_interval(probability=0.5)
    assert (narrow.high - narrow.low)[missing].mean() < (high - low)[missing].mean()


def test_a_function_and_no_covariates():
    X, full, _ = holes()
    filled = LatentFeatureImputer(**SHORT).fit_transform(X)
    rows = np.arange(len(X)) != 20
    assert relative_error(filled[rows], full[rows], X[rows]) < 0.7
    without = LatentFeatureImputer(IBP(), LinearGaussian(0.3, 1.0), **TINY).fit(X, covariates=np.arange(50.0))
    assert np.array_equal(without.transform(X, covariates=None), without.transform(X, covariates=np.ones(50)))


def test_a_column_without_numbers_gets_numbers():
    X, _, t = holes()
    X[:, 2] = np.nan
    model = LatentFeatureImputer(PRIOR, **TINY).fit(X, covariates=t)
    assert np.isfinite(model.transform(X, covariates=t)).all()


# -- the tools that people use -----------------------------------------------------------------------------------------


def frame():
    X, _, t = holes()
    data = pd.DataFrame(X, columns=["a", "b", "c", "d"], index=[f"r{i}" for i in range(len(X))])
    data.insert(1, "day", pd.Timestamp("2021-03-01") + pd.to_timedelta(t, unit="D"))
    return data


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output_and_names(kind):
    data = frame()
    imputer = LatentFeatureImputer(PRIOR, **TINY, covariate_columns="day").set_output(transform=kind)
    out = imputer.fit_transform(data if kind == "pandas" else pl.from_pandas(data))
    assert list(out.columns) == ["a", "b", "c", "d"]
    assert imputer.get_feature_names_out().tolist() == ["a", "b", "c", "d"]
    if kind == "pandas":
        assert out.index.equals(data.index)
        pd.testing.assert_frame_equal(out.where(data[out.columns].notna()), data[out.columns])
    else:
        assert isinstance(out, pl.DataFrame)


def test_names_of_a_table_without_names():
    X, _, t = holes()
    imputer = LatentFeatureImputer(PRIOR, **TINY, covariate_columns=0).fit(np.column_stack([t, X]))
    assert imputer.get_feature_names_out().tolist() == ["x1", "x2", "x3", "x4"]


def test_in_pipelines_and_column_transformers():
    data = frame()
    y = np.arange(len(data)) > 20
    imputer = LatentFeatureImputer(PRIOR, **TINY, covariate_columns="day")
    model = make_pipeline(imputer, HistGradientBoostingClassifier(max_iter=5)).fit(data, y)
    assert model.predict(data).shape == (50,)
    latent = make_pipeline(imputer, LatentFeatures(**TINY, scale="standardize")).fit(data)
    assert latent.transform(data).shape[0] == 50
    columns = ColumnTransformer([("filled", imputer, ["a", "day", "b"])], remainder="drop").fit(data)
    assert columns.get_feature_names_out().tolist() == ["filled__a", "filled__b"]


def test_grid_search_through_a_pipeline():
    data = frame()
    y = np.linspace(0.0, 1.0, len(data))
    model = make_pipeline(LatentFeatureImputer(PRIOR, **TINY, covariate_columns="day"), LinearRegression())
    grid = {"latentfeatureimputer__prior__decay__beta": [0.2, 2.0]}
    search = GridSearchCV(model, grid, cv=2).fit(data, y)
    assert search.best_estimator_[0].prior_.decay.beta == search.best_params_[next(iter(grid))]


def test_metadata_routing():
    X, _, t = holes()
    with sklearn.config_context(enable_metadata_routing=True):
        imputer = LatentFeatureImputer(PRIOR, **TINY).set_fit_request(covariates=True)
        pipeline = make_pipeline(imputer.set_transform_request(covariates=True), LinearRegression())
        pipeline.fit(X, t, covariates=t)
        assert pipeline.predict(X[:5], covariates=t[:5]).shape == (5,)


def test_clones_and_pickles(fitted):
    X, _, t = holes()
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(X, t), fitted.transform(X, t))
    assert clone(fitted).get_params() == fitted.get_params()
    assert LatentFeatureImputer().get_params()["scale"] == "standardize"


def test_kind_errors(fitted):
    X, _, t = holes()
    with pytest.raises(ValueError, match="n_draws must be at most 200, the number of posterior draws, got 201"):
        fitted.sample_imputations(n_draws=201)
    with pytest.raises(ValueError, match="covariates must be left out with X=None"):
        fitted.sample_imputations(covariates=t)
    with pytest.raises(ValueError, match="probability must be a number"):
        fitted.imputation_interval(probability=2.0)
    with pytest.raises(ValueError, match="covariates must be given"):
        fitted.transform(X)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        LatentFeatureImputer().imputation_interval()
