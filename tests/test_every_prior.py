"""A prior is swapped in one word: estimators, commands, pictures and the report take all of them alike."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV

from ddibp import (
    AIBD,
    DHBP,
    DIBP,
    Exponential,
    Gamma,
    LatentFeatureImputer,
    LatentFeatures,
    LinearGaussian,
    load_posterior,
    plots,
    registry,
    sample_posterior,
)
from ddibp.cli import main
from ddibp.report import charts, render_report

TINY = {"draws": 4, "tune": 3, "chains": 1}
COMMANDS = {
    "ibp": "--prior ibp",
    "ddibp": "--prior ddibp --covariate t --sequential",
    "customer": "--prior dhbp --covariate t",
    "dish": "--prior dhbp --covariate t --coupling dish --c0 2 --c1 1 --beta 0.5 --group g",
    "aibd": "--prior aibd --covariate t --alpha 2",
    "any order": "--prior aibd --covariate t --permutation uniform --beta 0.3",
    "dibp": "--prior dibp --covariate t --kernel matern32 --group g",
}


def table(n=10):
    rng = np.random.default_rng(3)
    t = np.arange(float(n))
    X = np.outer(t >= n // 2, [2.0, -1.0, 1.0]) + 0.3 * rng.normal(size=(n, 3))
    X[2, 0] = X[7, 2] = np.nan
    return X, t


def succeed(line: str) -> str:
    result = CliRunner().invoke(main, shlex.split(line), prog_name="ddibp")
    assert result.exit_code == 0, f"{line}: {result.stderr} {result.exception}"
    return result.stdout


def fail(line: str) -> str:
    result = CliRunner().invoke(main, shlex.split(line), prog_name="ddibp")
    assert result.exit_code == 2
    return result.stderr.strip().splitlines()[-1]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, t = table()
    with open("data.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["t", "g", "a", "b", "c"])
        for place, row in zip(t, X, strict=True):
            writer.writerow([place, "ab"[int(place) % 2], *("" if np.isnan(x) else round(x, 3) for x in row)])
    (tmp_path / "new.csv").write_text("t,g,a,c\n3.5,a,0.1,\n20,b,,\n")


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("options", COMMANDS.values(), ids=COMMANDS)
def test_runs_of_every_prior_are_summarised_filled_extended_and_reported(options):
    columns = "" if "--group" in options else "--exclude g "
    columns += "" if "--covariate" in options else "--exclude t "
    succeed(f"fit data.csv {columns}{options} --draws 4 --tune 3 --chains 1 --quiet -o run")
    posterior = load_posterior("run")
    assert registry.restore(registry.describe(posterior.prior)) == posterior.prior
    mass = posterior.prior.mass_name
    assert mass in posterior.data["posterior"]
    summary = succeed("summary run")
    assert f"prior       {posterior.prior!r}" in summary
    for name in posterior.prior.learned:
        assert f"\n{name} " in summary
    assert all(cell for line in csv.reader(succeed("impute run").splitlines()) for cell in line)
    rows = list(csv.DictReader(succeed("transform run new.csv").splitlines()))
    K = posterior.map().Z.shape[1]
    p = np.array([[float(row[f"feature_{k}"]) for k in range(K)] for row in rows])
    assert p.shape == (2, K)
    assert ((p >= 0.0) & (p <= 1.0)).all()
    assert all(float(row["features_fresh"]) >= 0.0 for row in rows)
    succeed("report run -o report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    assert type(posterior.prior).__name__ in page
    curve = charts.decay(posterior, 0.9)
    learned_curve = {"beta", "length_scale"} & set(posterior.prior.learned)
    assert (curve is not None) == bool(learned_curve)
    if curve is not None:
        assert f"{curve['name']} at the prior mean" in page
        assert curve["name"] == ("correlation" if "dibp" in options.split() else "decay")


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--prior dibp --covariate t --decay window", "--prior dibp has no --decay; leave it out."),
        ("--prior aibd --covariate t --sequential", "--prior aibd has no --sequential; leave it out."),
        ("--prior dhbp --covariate t --alpha 2", "--prior dhbp has no --alpha; leave it out."),
        ("--prior ddibp --covariate t --length-scale 2", "--prior ddibp has no --length-scale; leave it out."),
        ("--prior ibp --c0 2", "--prior ibp has no --c0; leave it out."),
        ("--prior dibp", "--covariate COLUMN must say where the rows are"),
        ("--prior dibp --covariate t --nugget 0", "nugget must be positive for posterior sampling"),
        ("--prior dhbp --covariate t --c0 0", "c0 must be"),
        (
            "--prior aibd --covariate t --schedule paper",
            "--schedule paper is the published sampler of --prior ddibp; leave it out for aibd.",
        ),
        ("--prior aibd --covariate t --permutation uniform --group g", "groups must be left out"),
    ],
)
def test_options_of_other_priors_are_named(options, message):
    unused = "" if "--group" in options else "--exclude g"
    text = fail(f"fit data.csv {unused} {options} -o run")
    assert text.startswith(f"Error: {message}")


PRIORS = [
    "dhbp",
    "aibd",
    "dibp",
    DHBP(Exponential(0.5), coupling="dish"),
    DHBP(Exponential(Gamma()), sequential=True),
    AIBD(Exponential(0.5), permutation="uniform"),
    DIBP(1.5 * RBF(2.0), alpha=2.0),
]


@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_estimators_take_every_prior(prior):
    X, t = table()
    shuffled = np.random.default_rng(0).permutation(len(t))
    X, t = X[shuffled], t[shuffled]
    model = clone(LatentFeatures(prior, LinearGaussian(0.3, 1.0), **TINY)).fit(X, covariates=t)
    new = np.array([[2.0, np.nan, 1.0], [np.nan] * 3])
    p = model.transform(new, covariates=[7.5, 30.0])
    assert p.shape == (2, model.n_features_)
    assert ((p >= 0.0) & (p <= 1.0)).all()
    assert np.isfinite(model.score(X, covariates=t))
    assert (model.row_order_[:-1] < model.row_order_[1:]).all() != getattr(model.prior_, "sequential", False)
    with pytest.raises(ValueError, match="covariates must be given"):
        model.transform(new)
    imputer = LatentFeatureImputer(prior, LinearGaussian(0.3, 1.0), **TINY).fit(X, covariates=t)
    assert np.isfinite(imputer.transform(new, covariates=[7.5, 30.0])).all()
    if isinstance(prior, str):
        law = model.prior_.length_scale if prior == "dibp" else model.prior_.decay.beta
        assert law == (Gamma(2.0, 1.0) if prior == "dibp" else Gamma(1.0, 2.0)).set_params(rate=law.rate)
        assert 0.1 < law.rate < 10.0


@pytest.mark.parametrize(
    ("prior", "grid"),
    [
        (DIBP(), {"prior__length_scale": [0.1, 3.0]}),
        ("dhbp", {"prior__decay__beta": [0.2, 100.0]}),
        (AIBD(Exponential(1.0)), {"prior__decay__beta": [0.2, 100.0]}),
    ],
    ids=["dibp", "dhbp", "aibd"],
)
def test_grids_reach_into_every_prior(prior, grid):
    X, t = table()
    model = LatentFeatures(prior, LinearGaussian(0.3, 1.0), **TINY, covariate_columns=0)
    search = GridSearchCV(model, grid, cv=2).fit(np.column_stack([t, X]))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    ((name, value),) = search.best_params_.items()
    assert search.best_estimator_.get_params()[name] == value


def test_the_picture_of_a_dibp_is_its_correlation():
    X, t = table()
    plan = {"draws": 10, "tune": 2, "chains": 1, "progress": False}
    posterior = sample_posterior(DIBP("matern12", length_scale=Gamma(2.0, 1.0)), LinearGaussian(), X, t, **plan)
    ax = plots.decay_posterior(posterior, max_distance=5.0, ax=Figure().add_subplot())
    assert ax.get_ylabel() == "correlation"
    d, assumed = ax.lines[-1].get_data()
    np.testing.assert_allclose(assumed, np.exp(-d / 2.0) / 1.1)
    lengths = posterior.data["posterior"]["length_scale"].to_numpy().ravel()
    median = next(line for line in ax.lines if line.get_label() == "posterior median")
    np.testing.assert_allclose(median.get_ydata(), np.median(np.exp(-d / lengths[:, None]) / 1.1, axis=0))
    fixed = sample_posterior(DIBP("matern12", length_scale=2.0), LinearGaussian(), X, t, **plan)
    ax = plots.decay_posterior(fixed, ax=Figure().add_subplot())
    assert ax.get_xlim()[1] == pytest.approx(1.25 * 2.0 * np.log(1.0 / 0.011), rel=0.01)
    own = sample_posterior(DIBP(RBF(2.0)), LinearGaussian(), X, t, **plan)
    with pytest.raises(ValueError, match="prior with a decay or a named kernel; DIBP"):
        plots.decay_posterior(own)
    assert "Kernel" in render_report(own)


def test_the_report_says_who_lends_and_who_arrives():
    X, t = table()
    plan = {"draws": 3, "tune": 2, "chains": 1, "progress": False}
    pages = [
        render_report(sample_posterior(prior, LinearGaussian(), X, t, **plan))
        for prior in (
            DHBP(sequential=True),
            DHBP(coupling="dish"),
            AIBD(),
            AIBD(permutation="uniform"),
        )
    ]
    said = [
        "rows borrow from earlier rows only",
        "one for every feature of a row",
        "rows arrive as they stand",
        "rows arrive in an order that is not known",
    ]
    for page, text in zip(pages, said, strict=True):
        assert text in page
    assert "one for all features of a row; in the best draw," in pages[0]
    assert "γ" in pages[0]
