"""New rows given a posterior, against brute force and against the priors' own laws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2, multivariate_normal, norm, poisson

from ddibp import DDIBP, IBP, Constant, Exponential, Gamma, LinearGaussian, Logistic, Window, sample_posterior
from ddibp.prediction import extend, newcomers, predict, rows

T = np.array([0.0, 0.7, 1.5, 3.0, 3.0, 4.2])
LIKELIHOOD = LinearGaussian(sigma_x=0.5, sigma_w=1.2)
PLAN = {"draws": 8, "tune": 20, "chains": 2, "progress": False}


def small_data(rng, n_rows=6, n_outputs=3):
    X = np.outer(np.arange(n_rows) >= n_rows // 2, [1.5, -1.0, 0.7][:n_outputs])
    X = X + rng.normal(scale=0.5, size=X.shape)
    X[1, 0] = X[4, 2] = np.nan
    return X


@pytest.fixture
def posterior(rng):
    prior = DDIBP(Exponential(0.5), alpha=1.3, sequential=True)
    return sample_posterior(prior, LIKELIHOOD, small_data(rng), T, **PLAN)


def inherited(arrivals, Z, numbers):
    """Return the probabilities and rates of rows whose features are independent."""
    found = arrivals.inheritance(Z, numbers, {})
    assert found.is_plain
    return found.p, found.rate


def brute_force(X, Z, x, p, rate, numbers, most_fresh=25):
    """Sum over all features of a row and numbers of fresh ones, with the joint Gaussian of all rows of each output."""
    variance, step = numbers["sigma_x"] ** 2, numbers["sigma_w"] ** 2
    log_joint, features, fresh, means, variances = [], [], [], [], []
    for z in itertools.product((0, 1), repeat=Z.shape[1]):
        prior = np.prod(np.where(z, p, 1.0 - p))
        for j in range(most_fresh):
            if prior == 0.0:
                continue
            total = np.log(prior) + poisson.logpmf(j, rate)
            mean, var = np.empty(len(x)), np.empty(len(x))
            for m in range(len(x)):
                all_x = np.append(X[:, m], x[m])
                seen = ~np.isnan(all_x)
                F = np.zeros((len(all_x), Z.shape[1] + j))
                F[:-1, : Z.shape[1]] = Z
                F[-1] = [*z, *np.ones(j)]
                signal = step * F @ F.T
                S = signal[np.ix_(seen, seen)] + variance * np.eye(seen.sum())
                gain = np.linalg.solve(S, signal[seen, -1])
                mean[m], var[m] = gain @ all_x[seen], signal[-1, -1] - gain @ signal[seen, -1]
                if seen[-1]:
                    total += multivariate_normal.logpdf(all_x[seen], cov=S)
                    total -= multivariate_normal.logpdf(all_x[seen][:-1], cov=S[:-1, :-1])
            log_joint.append(total)
            features.append(z)
            fresh.append(j)
            means.append(mean)
            variances.append(var)
    log_density = logsumexp(log_joint)
    w = np.exp(np.array(log_joint) - log_density)
    mean = w @ np.array(means)
    sd = np.sqrt(w @ np.array(variances) + w @ (np.array(means) - mean) ** 2)
    return log_density, w @ np.array(features).reshape(len(w), -1), w @ fresh, mean, sd


X_NEW = np.array(
    [[1.4, -1.1, 0.6], [0.0, np.nan, -0.4], [np.nan] * 3, [3.0, 3.0, np.nan], [-0.5, 0.1, 1.0], [8.0, -9.0, 4.0]]
)
T_NEW = np.array([4.3, 1.0, 2.0, -1.0, 9.0, 3.0])


def test_extension_is_the_brute_force_sum(posterior):
    best = posterior.map()
    p, rate = inherited(newcomers.newcomers(posterior, len(X_NEW), T_NEW, None), best.Z, best.scalars)
    found = extend(posterior, X_NEW, T_NEW)
    for i, x in enumerate(X_NEW):
        _, features, fresh, mean, sd = brute_force(posterior.observed, best.Z, x, p[i], rate[i], best.scalars)
        np.testing.assert_allclose(found.probabilities[i], features, atol=1e-6)
        np.testing.assert_allclose(found.fresh[i], fresh, rtol=1e-5)
        np.testing.assert_allclose(found.mean[i], mean, atol=1e-5)
        np.testing.assert_allclose(found.sd[i], sd, rtol=1e-5)


def test_prediction_averages_densities_and_weighs_draws_by_them(posterior):
    found = predict(posterior, X_NEW, T_NEW, draws=10**6)
    samples = list(posterior.samples())
    arrivals = newcomers.newcomers(posterior, len(X_NEW), T_NEW, None)
    for i, x in enumerate(X_NEW[:4]):
        parts = []
        for Z, numbers in samples:
            p, rate = inherited(arrivals, Z, numbers)
            parts.append(brute_force(posterior.observed, Z, x, p[i], rate[i], numbers, most_fresh=12))
        log_densities, means, sds = (np.array([part[place] for part in parts]) for place in (0, 3, 4))
        log_density = logsumexp(log_densities) - np.log(len(samples))
        np.testing.assert_allclose(found.log_density[i], log_density, atol=1e-5)
        w = np.exp(log_densities - logsumexp(log_densities))
        np.testing.assert_allclose(found.mean[i], w @ means, atol=1e-5)
        np.testing.assert_allclose(found.sd[i] ** 2, w @ (sds**2 + (means - w @ means) ** 2), rtol=1e-4)
    assert found.log_density[2] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(found.noise, 0.5)


@pytest.mark.parametrize("prior", [IBP(1.3), DDIBP(Exponential(0.5), alpha=1.3)], ids=["IBP", "DDIBP"])
def test_the_predictive_density_integrates_to_one(prior, rng):
    posterior = sample_posterior(prior, LinearGaussian(sigma_w=1.0), small_data(rng)[:, :1], T, **PLAN)
    x = np.linspace(-25.0, 25.0, 4001)
    found = predict(posterior, x[:, None], np.full(x.size, 2.0), draws=5)
    assert np.trapezoid(np.exp(found.log_density), x) == pytest.approx(1.0, abs=1e-4)


# -- the prior of a new row --------------------------------------------------------------------------------------------

SEQUENTIAL = [
    IBP(1.3),
    DDIBP(Exponential(0.5), alpha=1.3, sequential=True),
    DDIBP(Constant(), alpha=1.3, sequential=True),
    DDIBP(Window(2.0), alpha=1.3, sequential=True),
    DDIBP(Logistic(2.0, -1.0), alpha=1.3, sequential=True),
    DDIBP(Exponential(0.5), alpha=1.3, sequential=True, cutoff=0.4),
    DDIBP(Exponential(0.5), alpha=1.3, sequential=True, metric="sqeuclidean"),
]


def odds_by_the_prior(prior, covariates, Z):
    """Return log odds that an appended row has each column, and the rate of columns that it alone has."""
    last = np.vstack([np.zeros((len(Z), 1), bool), [[True]]])
    on, off = np.vstack([Z, np.ones((1, Z.shape[1]))]), np.vstack([Z, np.zeros((1, Z.shape[1]))])
    odds = prior.log_rate(on, covariates) - prior.log_rate(off, covariates)
    return odds, float(np.exp(prior.log_rate(last, covariates)[0]))


@pytest.mark.parametrize("prior", SEQUENTIAL, ids=repr)
def test_appended_rows_of_a_sequential_prior_have_its_own_law(prior, rng):
    posterior = sample_posterior(prior, LIKELIHOOD, small_data(rng), None if isinstance(prior, IBP) else T, **PLAN)
    Z = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]], dtype=bool)
    for t in (4.2, 4.9, 15.0):
        p, rate = inherited(newcomers.newcomers(posterior, 1, [t], None), Z, {"alpha": 1.3})
        odds, own = odds_by_the_prior(prior, np.append(T, t), Z)
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(np.log(p[0]) - np.log1p(-p[0]), odds, atol=1e-10)
        assert rate[0] == pytest.approx(own, rel=1e-10)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "seuclidean", "mahalanobis", "haversine", "chebyshev"])
@pytest.mark.parametrize("groups", [None, [0, 0, 1, 1, 1, 0]])
def test_others_have_the_law_of_the_prior_in_which_nobody_links_to_them(metric, groups, rng):
    from scipy.spatial.distance import cdist

    places = rng.uniform(-60.0, 60.0, size=(6, 2))
    new = rng.uniform(-60.0, 60.0, size=(1, 2))
    prior = DDIBP(Exponential(0.001 if metric == "haversine" else 0.02), alpha=1.3, metric=metric)
    posterior = sample_posterior(prior, LIKELIHOOD, small_data(rng), places, groups=groups, **PLAN)
    Z = rng.random((6, 3)) < 0.5
    arrivals = newcomers.newcomers(posterior, 1, new, None if groups is None else [1])
    p, rate = inherited(arrivals, Z, {"alpha": 1.3})
    both = np.vstack([places, new])
    if metric == "seuclidean":
        D = cdist(both, both, metric, V=places.var(axis=0, ddof=1))
    elif metric == "mahalanobis":
        D = cdist(both, both, metric, VI=np.linalg.inv(np.cov(places, rowvar=False)))
    elif metric == "haversine":
        phi, lam = np.radians(both).T
        half = (1 - np.cos(phi[:, None] - phi)) / 2 + np.cos(phi[:, None]) * np.cos(phi) * (
            1 - np.cos(lam[:, None] - lam)
        ) / 2
        D = 2 * 6371.0088 * np.arcsin(np.sqrt(half))
    else:
        D = cdist(both, both, metric)
    np.fill_diagonal(D, 0.0)
    if groups is not None:
        D[np.not_equal.outer([*groups, 1], [*groups, 1])] = np.inf
    D[:-1, -1] = np.inf
    Z[:, 0] = np.isfinite(D[0, :-1])  # a column that a group has as a whole is possible
    odds, own = odds_by_the_prior(prior.set_params(metric="precomputed"), D, Z[:, :1])
    with np.errstate(divide="ignore"):
        p = inherited(arrivals, Z[:, :1], {"alpha": 1.3})[0]
        np.testing.assert_allclose(np.log(p[0]) - np.log1p(-p[0]), odds, atol=1e-8)
    assert rate[0] == pytest.approx(own, rel=1e-8)


def test_learned_decay_parameters_are_those_of_the_draw(rng):
    prior = DDIBP(Exponential(Gamma(2.0, 2.0)), sequential=True)
    posterior = sample_posterior(prior, LIKELIHOOD, small_data(rng), T, **PLAN)
    arrivals = newcomers.newcomers(posterior, 1, [5.0], None)
    for Z, numbers in posterior.samples():
        p, _ = inherited(arrivals, Z, numbers)
        f = np.exp(-numbers["beta"] * (5.0 - T))
        np.testing.assert_allclose(p[0], f @ Z / (1.0 + f.sum()))


def test_a_row_between_links_backwards_only(posterior):
    arrivals = newcomers.newcomers(posterior, 3, [-1.0, 3.0, 3.1], None)
    assert np.isinf(arrivals.distances[0]).all()
    assert np.isfinite(arrivals.distances).sum(axis=1).tolist() == [0, 5, 5]


def test_precomputed_distances_to_the_fitted_rows(rng):
    D = np.abs(T[:, None] - T)
    X = small_data(rng)
    plain = sample_posterior(DDIBP(Exponential(0.5)), LIKELIHOOD, X, T, **PLAN)
    given = sample_posterior(DDIBP(Exponential(0.5), metric="precomputed"), LIKELIHOOD, X, D, **PLAN)
    far = np.abs(T_NEW[:, None] - T)
    np.testing.assert_allclose(
        predict(given, X_NEW, far).log_density, predict(plain, X_NEW, T_NEW).log_density, rtol=1e-12
    )
    with pytest.raises(ValueError, match="distances of new rows to fitted ones"):
        predict(given, X_NEW, far[:, :2])


# -- sums that are simulated, and draws --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many_features():
    """Return weights of 15 features, 30 rows, the probabilities of their features and rates of fresh ones."""
    rng = np.random.default_rng(5)
    p = np.clip(rng.beta(0.5, 0.8, size=(90, 15)), 1e-6, 0.98)
    Z = rng.random(p.shape) < p
    X = Z @ rng.normal(size=(15, 6)) + 0.4 * rng.normal(size=(90, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    weights = rows.weigh(X[:60], Z[:60], {"sigma_x": 0.4, "sigma_w": 1.0})
    return weights, X[60:], p[60:], rng.uniform(0.01, 1.0, 30)


def summed(weights, X, p, rate, n_others=64):
    """Return log densities, probabilities and means of all rows, in their order."""
    found = list(rows.sums(weights, X, p, rate, 0, n_others, 1, np.random.default_rng(2)))
    order = np.argsort(np.concatenate([part.rows for part in found]))
    return [
        np.concatenate([getattr(f, name) for f in found])[order] for name in ("log_density", "probabilities", "mean")
    ]


def test_simulated_sums_are_near_the_exact_ones(many_features, monkeypatch):
    monkeypatch.setattr(rows, "_MOST_SUMMED", 15)
    exact = summed(*many_features)
    monkeypatch.setattr(rows, "_MOST_SUMMED", 12)
    for n_others, typical in ((16, (0.1, 0.03, 0.04)), (64, (0.06, 0.015, 0.025))):
        rough = summed(*many_features, n_others=n_others)
        assert not np.array_equal(exact[1], rough[1])
        for a, b, most in zip(exact, rough, typical, strict=True):
            assert np.sqrt(np.mean((a - b) ** 2)) < most
            assert np.abs(a - b).max() < 10.0 * most


def test_a_row_does_not_depend_on_the_rows_beside_it(many_features):
    weights, X, p, rate = many_features
    order = np.random.default_rng(1).permutation(len(X))
    together, shuffled = summed(weights, X, p, rate), summed(weights, X[order], p[order], rate[order])
    alone = summed(weights, X[3:4], p[3:4], rate[3:4])
    for a, b, c in zip(together, shuffled, alone, strict=True):
        np.testing.assert_allclose(b, a[order], atol=1e-12)
        np.testing.assert_allclose(c, a[3:4], atol=1e-12)


def test_rows_without_data_have_the_law_of_the_prior(posterior):
    best = posterior.map()
    p, rate = inherited(newcomers.newcomers(posterior, 2, [2.0, 5.0], None), best.Z, best.scalars)
    weights = rows.weigh(posterior.observed, best.Z, best.scalars)
    X = np.full((2, 3), np.nan)
    p[p == 0.0] = 0.3
    stream = np.random.default_rng(0)
    closed = rows._from_the_prior(weights, p, rate, np.arange(2), 0, stream)
    looked_at = rows._sum(weights, X, p, rate, np.arange(2), np.arange(p.shape[1]), 0, 1, 0, stream)
    for name in ("log_density", "probabilities", "fresh", "mean", "variance"):
        np.testing.assert_allclose(getattr(looked_at, name), getattr(closed, name), atol=1e-7, err_msg=name)


@pytest.mark.parametrize("case", [0, 1, 2, 3])
def test_draws_have_the_moments_that_are_returned(posterior, case):
    """Normal tests of means and variances with 20,000 draws; false alarms at most 1e-5 in all."""
    n = 20_000
    x, t = X_NEW[case : case + 1], T_NEW[case : case + 1]
    found = extend(posterior, x, t, draws=n, rng=case)
    spread = np.sqrt(found.probabilities[0] * (1.0 - found.probabilities[0]) / n) + 1e-12
    assert np.all(np.abs(found.draws.mean(axis=0)[0] - found.probabilities[0]) <= 5.5 * spread)
    completed = predict(posterior, x, t, completions=n, rng=case)
    entries = completed.completions[:, 0]
    missing = np.isnan(x[0])
    assert np.array_equal(entries[:, ~missing], np.tile(x[0, ~missing], (n, 1)))
    sd = np.sqrt(completed.sd[0] ** 2 + completed.noise[0] ** 2)[missing]
    assert np.all(np.abs(entries[:, missing].mean(axis=0) - completed.mean[0, missing]) < 5.5 * sd / np.sqrt(n))
    np.testing.assert_allclose(entries[:, missing].std(axis=0), sd, rtol=0.06)


# -- does it predict? --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_held_out_rows_are_calibrated():
    """Ranks of held-out entries among completions are uniform, given the true model (chi-square, false alarms 1e-4)."""
    prior = DDIBP(Exponential(0.7), alpha=1.5, sequential=True)
    t = np.arange(9.0)
    ranks = []
    for seed in range(120):
        rng = np.random.default_rng([20261119, seed])
        X, _ = LIKELIHOOD.simulate(prior.sample(t, rng=rng), 2, rng=rng)
        held = X[-1].copy()
        posterior = sample_posterior(
            prior, LIKELIHOOD, X[:-1], t[:-1], draws=60, tune=40, chains=1, thin=2, seed=seed, progress=False
        )
        x = np.array([[held[0], np.nan]])
        found = predict(posterior, x, t[-1:], draws=60, completions=39, rng=seed)
        ranks.append((found.completions[:, 0, 1] < held[1]).sum() // 4)
    counts = np.bincount(ranks, minlength=10)
    assert chi2.sf(((counts - 12.0) ** 2 / 12.0).sum(), 9) > 1e-4


@pytest.fixture(scope="module")
def smooth():
    """Return times, data of four features that come and go a few times, and every fifth row to be held out."""
    rng = np.random.default_rng(11)
    t = np.linspace(0.0, 10.0, 150)
    phases = rng.uniform(0.0, 2 * np.pi, size=(4, 1))
    waves = (np.sin(phases + np.arange(1, 5)[:, None] * t / 2.5) > 0.3).astype(float)
    X = waves.T @ rng.normal(scale=1.5, size=(4, 8)) + 0.3 * rng.normal(size=(150, 8))
    return t, X, np.arange(150) % 5 == 3


LINKED = DDIBP(Exponential(4.0), sequential=True)
FIT = {"draws": 60, "tune": 100, "chains": 1, "progress": False}


@pytest.mark.parametrize("where", ["between", "beyond"])
def test_rows_without_data_are_predicted_better_than_by_the_mean(smooth, where):
    t, X, new = smooth
    held = new if where == "between" else np.arange(150) >= 147
    posterior = sample_posterior(LINKED, LinearGaussian(), X[~held], t[~held], **FIT)
    found = predict(posterior, np.full(X[held].shape, np.nan), t[held], draws=50)
    error = np.sqrt(np.mean((found.mean - X[held]) ** 2))
    assert error < 0.75 * np.sqrt(np.mean((X[~held].mean(axis=0) - X[held]) ** 2))
    z = (found.mean - X[held]) / np.sqrt(found.sd**2 + found.noise[:, None] ** 2)
    assert 0.4 < np.sqrt(np.mean(z**2)) < 2.0


def test_covariates_raise_the_density_of_held_out_rows(smooth):
    t, X, new = smooth
    linked = sample_posterior(LINKED, LinearGaussian(), X[~new], t[~new], **FIT)
    free = sample_posterior(IBP(), LinearGaussian(), X[~new], **FIT)
    part = X[new].copy()
    part[:, 2:] = np.nan  # with all entries seen, features need no covariate
    gain = predict(linked, part, t[new]).log_density - predict(free, part).log_density
    assert gain.mean() > 0.1


def test_no_features_leave_noise_and_fresh_ones():
    posterior = sample_posterior(
        IBP(1e-6), LinearGaussian(1.0, 1.0), np.zeros((5, 2)), draws=5, tune=5, chains=1, progress=False
    )
    assert posterior.map().Z.shape == (5, 0)
    found = predict(posterior, [[0.3, -2.0], [1e4, 0.0], [np.nan, np.nan]], completions=3)
    assert found.log_density[0] == pytest.approx(norm.logpdf([0.3, -2.0]).sum(), abs=1e-5)
    assert np.isfinite(found.log_density).all()
    assert extend(posterior, [[0.3, -2.0]], draws=2).draws.shape == (2, 1, 0)


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_kind_errors(posterior, rng):
    with pytest.raises(ValueError, match="X_new has 2 columns, but the fit had 3"):
        extend(posterior, np.zeros((1, 2)), [1.0])
    with pytest.raises(ValueError, match="covariates_new must be given"):
        extend(posterior, np.zeros((1, 3)))
    with pytest.raises(ValueError, match="covariates_new describe 2 rows, but X_new has 1"):
        extend(posterior, np.zeros((1, 3)), [1.0, 2.0])
    with pytest.raises(ValueError, match="covariates_new have 2 columns"):
        extend(posterior, np.zeros((1, 3)), [[1.0, 2.0]])
    with pytest.raises(ValueError, match="groups_new must be left out"):
        extend(posterior, np.zeros((1, 3)), [1.0], groups_new=[1])
    with pytest.raises(TypeError, match="prior must be one of ddibp's"):
        extend(posterior, np.zeros((1, 3)), [1.0], prior="ibp")
    with pytest.raises(ValueError, match="draws must be at least 1"):
        predict(posterior, np.zeros((1, 3)), [1.0], draws=0)
    prior = DDIBP(Exponential(1.0))
    X = small_data(rng)
    grouped = sample_posterior(prior, LIKELIHOOD, X, T, groups=list("aabbbb"), **PLAN)
    with pytest.raises(ValueError, match="groups_new must be given"):
        extend(grouped, np.zeros((1, 3)), [1.0])
    with pytest.raises(ValueError, match="one label per row, 1 in all"):
        extend(grouped, np.zeros((1, 3)), [1.0], groups_new=["a", "b"])
    with pytest.raises(TypeError, match="labels like those of the fit"):
        extend(grouped, np.zeros((1, 3)), [1.0], groups_new=[1])
    assert extend(grouped, np.zeros((1, 3)), [1.0], groups_new=["new"]).probabilities.max() == 0.0
    ready = sample_posterior(prior, LIKELIHOOD, X, prior.proximity(T), **PLAN)
    with pytest.raises(ValueError, match="does not hold the covariates"):
        extend(ready, np.zeros((1, 3)), [1.0])


def test_a_prior_with_a_function_is_given_again(rng):
    prior = DDIBP(lambda d: np.exp(-0.5 * d), alpha=1.3)
    X = small_data(rng)
    posterior = sample_posterior(prior, LIKELIHOOD, X, T, **PLAN)
    same = sample_posterior(DDIBP(Exponential(0.5), alpha=1.3), LIKELIHOOD, X, T, **PLAN)
    np.testing.assert_allclose(
        predict(posterior, X_NEW, T_NEW, prior=prior).log_density, predict(same, X_NEW, T_NEW).log_density, rtol=1e-10
    )
