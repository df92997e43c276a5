"""New rows under the AIBD, the dHBP and the dIBP: their laws given a draw, by enumeration of one row more."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import ndtr

from ddibp import AIBD, DHBP, DIBP, Exponential, Gamma, LinearGaussian, load_posterior, sample_posterior
from ddibp.prediction import extend, newcomers, predict, rows
from ddibp.priors._newcomers import Inheritance, Places
from reference import aibd, dhbp, dibp

T = np.array([0.0, 0.8, 1.5, 3.1])
NEW = np.array([1.1, 5.0])
Z = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 1, 1]], dtype=bool)
PLAN = {"draws": 6, "tune": 10, "chains": 2, "progress": False}
PRIORS = {
    "customer": DHBP(Exponential(0.7), gamma=1.3, c0=1.5, c1=0.8),
    "sequential customer": DHBP(Exponential(0.7), c0=Gamma(2.0, 1.0), sequential=True),
    "dish": DHBP(Exponential(Gamma(2.0, 2.0)), gamma=1.3, c1=0.8, coupling="dish"),
    "arrivals": AIBD(Exponential(Gamma(2.0, 2.0)), alpha=1.3),
    "any order": AIBD(Exponential(0.5), permutation="uniform"),
    "smooth": DIBP("matern32", length_scale=Gamma(2.0, 1.0)),
}


def inherit(prior, numbers, extras, Z=Z, new=NEW, groups=(None, None)):
    fitted = {"covariates": T[: len(Z)]} | ({} if groups[0] is None else {"groups": np.array(groups[0])})
    places = Places(len(Z), len(new), fitted, new, groups[1])
    return prior.newcomers(places).inheritance(Z, numbers, extras)


def extended(rates, Z):
    """Return the odds, on and off, of an additional row for every column, and the rate of columns that it alone has."""
    on = np.array([[rates[(*z.tolist(), bit)] for bit in (1, 0)] for z in Z.T.astype(int)])
    return on[:, 0] / on.sum(axis=1), rates[(*[0] * len(Z), 1)]


# -- laws of a new row, by enumeration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
def test_an_aibd_row_arrives_after_all_others(order):
    found = inherit(AIBD(Exponential(0.7), alpha=1.3), {"alpha": 1.3}, {})
    for i, t in enumerate(NEW):
        every = np.append(T, t)
        L = np.exp(-0.7 * np.abs(every[:, None] - every))
        p, rate = extended(aibd.pattern_rates(L, [*order, 4], alpha=1.3), Z)
        np.testing.assert_allclose(found.p[i], p, rtol=1e-10)
        assert found.rate[i] == pytest.approx(rate, rel=1e-10)


def test_aibd_groups_have_buffets_of_their_own():
    prior = AIBD(Exponential(0.7), alpha=1.3)
    found = inherit(prior, {"alpha": 1.3}, {}, groups=(["a", "b", "b", "b"], ["b", "c"]))
    own = inherit(prior, {"alpha": 1.3}, {}, Z=Z[1:], new=NEW - 0.8)  # the distances differ: only the rates are equal
    assert found.rate.tolist() == pytest.approx([own.rate[0], 1.3])
    assert found.p[1].max() == 0.0
    f = np.exp(-0.7 * np.abs(NEW[0] - T[1:]))
    np.testing.assert_allclose(found.p[0], 0.75 * f @ Z[1:] / f.sum())


def chances(t):
    f = np.append(np.exp(-0.7 * np.abs(t - T)), 1.0)
    return f / f.sum()


@pytest.mark.parametrize("lenders", [(0, 0, 2, 0), (3, 1, 1, 3), (0, 0, 0, 0), (1, 0, 3, 2)])
def test_a_customer_row_has_the_law_of_one_row_more(lenders):
    c0, c1, gamma = 1.5, 0.8, 1.3
    found = inherit(PRIORS["customer"], {"gamma": gamma}, {"lenders": np.array(lenders)})
    np.testing.assert_allclose(np.bincount(found.row, found.weight), 1.0)
    for i, t in enumerate(NEW):
        a = chances(t)
        wanted = [(a[j], *extended(dhbp.rates_given((*lenders, j), c0, c1, gamma), Z)) for j in range(5)]
        mine = found.row == i
        parts = list(zip(found.weight[mine], found.p[mine], found.rate[mine], strict=True))
        # all joint probabilities of the features, and the joint law with no fresh one
        for z in itertools.product((0, 1), repeat=3):
            for quiet in (0.0, 1.0):
                law = [
                    sum(w * np.prod(np.where(z, p, 1.0 - p)) * np.exp(-quiet * rate) for w, p, rate in mixture)
                    for mixture in (parts, wanted)
                ]
                assert law[0] == pytest.approx(law[1], rel=1e-5)


def test_lenders_with_equal_urns_are_one_component():
    found = inherit(PRIORS["customer"], {"gamma": 1.0}, {"lenders": np.array([0, 0, 0, 0])})
    assert np.bincount(found.row).tolist() == [2, 2]
    far = inherit(PRIORS["customer"], {"gamma": 1.0}, {"lenders": np.array([0, 0, 0, 0])}, new=np.array([1e3]))
    assert far.is_plain
    assert far.weight.tolist() == [1.0]


def test_a_dish_row_has_the_law_of_one_row_more():
    """The features exactly; fresh ones by draws of lenders, whose error is 1 %."""
    c0, c1, gamma = 1.5, 0.8, 1.3
    prior = DHBP(Exponential(0.7), gamma=gamma, c0=c0, c1=c1, coupling="dish")
    links = np.array([[0, 0, 2, 0], [3, 1, 1, 3], [1, 0, 3, 2]])
    found = inherit(prior, {"gamma": gamma}, {"links": links})
    f = np.exp(-0.7 * np.abs(T[:, None] - T))
    fitted = f / f.sum(axis=1, keepdims=True)
    for i, t in enumerate(NEW):
        a = chances(t)
        for k, g in enumerate(links):
            z = Z[:, k].astype(int).tolist()
            on, off = (
                sum(a[j] * dhbp.unit_rate(dhbp.counts((*z, bit), (*g.tolist(), j)), c0, c1) for j in range(5))
                for bit in (1, 0)
            )
            assert found.p[i, k] == pytest.approx(on / (on + off), rel=1e-10)
        alone = sum(
            p * a[j] * dhbp.unit_rate(dhbp.counts((0, 0, 0, 0, 1), (*g, j)), c0, c1)
            for g, p in dhbp.lenders(fitted)
            for j in range(5)
        )
        assert found.rate[i] == pytest.approx(gamma * alone, rel=0.02)


def correlations(t, n=3):
    return dibp.correlation(np.append(T[:n], t), dibp.KERNELS["matern32"], 1.2, 2.0, 0.3)


def test_a_dibp_row_has_gaussian_values_given_those_of_others(rng):
    prior = DIBP("matern32", length_scale=1.2, variance=2.0, nugget=0.3)
    marks = rng.normal(size=(3, 4))
    found = inherit(prior, {"alpha": 1.3}, {"marks": marks}, Z=Z[:3])
    for i, t in enumerate(NEW):
        C = correlations(t)
        gain = np.linalg.solve(C[:3, :3], C[:3, 3])
        sd = np.sqrt(1.0 - gain @ C[:3, 3])
        np.testing.assert_allclose(found.p[i], ndtr((marks[:, 0] - marks[:, 1:] @ gain) / sd), rtol=1e-10)


def test_a_dibp_row_beside_a_fitted_one_may_be_certain():
    marks = np.array([[9.0, -9.0, -9.0], [-9.0, 9.0, 9.0]])
    prior = DIBP("matern32", nugget=1e-6)
    found = inherit(prior, {"alpha": 1.0}, {"marks": marks}, Z=np.array([[1, 0], [1, 0]], bool), new=T[:1])
    assert 1.0 - 1e-9 < found.p[0, 0] < 1.0
    assert found.p[0, 1] < 1e-9


@pytest.mark.parametrize("t", [1.1, 1.5, 9.0])
def test_fresh_dishes_of_a_dibp_row(t):
    """256 draws of the fitted values: an error of some 3 %."""
    prior = DIBP("matern32", length_scale=1.2, variance=2.0, nugget=0.3)
    found = inherit(prior, {"alpha": 1.3}, {"marks": np.zeros((0, 3))}, Z=np.zeros((2, 0), bool), new=np.array([t]))
    assert found.rate[0] == pytest.approx(dibp.pattern_rates(correlations(t, 2), alpha=1.3)[0, 0, 1], rel=0.05)


def test_averages_over_marks_are_the_dibp_of_one_row_more():
    """P(row * has the feature | z) by draws of thresholds and values that give z, against rates of one row more.

    Normal tests at 5 standard errors.
    """
    rng, prior = np.random.default_rng(3), DIBP("matern32", length_scale=1.2, variance=2.0, nugget=0.3)
    rates = dibp.pattern_rates(correlations(1.1, 2))
    drawn = prior.process(T[:2]).draw_taken(np.zeros(20_000, np.int64), rng)
    for z in ([1, 0], [1, 1]):
        chosen = drawn.where((drawn.z == z).all(axis=1))
        assert len(chosen.z) > 3000
        p = inherit(prior, {"alpha": 1.0}, {"marks": chosen.marks}, Z=chosen.z.T.astype(bool), new=np.array([1.1])).p
        expected = rates[(*z, 1)] / (rates[(*z, 1)] + rates[(*z, 0)])
        assert p.mean() == pytest.approx(expected, abs=5.0 * p.std() / np.sqrt(p.size))


# -- from chains to new rows -------------------------------------------------------------------------------------------


def small_data(rng):
    X = np.outer([0, 0, 1, 1], [1.5, -1.0]) + rng.normal(scale=0.5, size=(4, 2))
    X[1, 0] = np.nan
    return X


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_chains_keep_what_new_rows_inherit_by(prior, rng, tmp_path):
    """Kept beside the draws and of the best of them, saved and loaded; resumed chains keep the same."""
    X, likelihood = small_data(rng), LinearGaussian(0.5, 1.2)
    posterior = sample_posterior(prior, likelihood, X, T, **PLAN)
    halfway = PLAN | {"draws": 3, "checkpoint": tmp_path / "run"}
    sample_posterior(prior, likelihood, X, T, **halfway)
    resumed = sample_posterior(prior, likelihood, X, T, **(halfway | {"draws": 6}))
    posterior.save(tmp_path / "saved")
    others = [resumed, load_posterior(tmp_path / "saved")]
    samples = [list(found.full_samples()) for found in (posterior, *others)]
    assert len(samples[0]) == 12
    expected = {"any order": {"order"}, "arrivals": set(), "smooth": {"marks"}, "dish": {"links"}}
    names = next((found for key, found in expected.items() if PRIORS[key] is prior), {"lenders"})
    for first, *same in zip(*samples, strict=True):
        assert set(first.extras) == names
        for other in same:
            np.testing.assert_array_equal(other.Z, first.Z)
            assert other.numbers == first.numbers
            for name, array in first.extras.items():
                assert other.extras[name].dtype == array.dtype
                np.testing.assert_array_equal(other.extras[name], array)
    best = posterior.map()
    mine = samples[0][6 * best.chain + best.draw]
    for found in (best, *(other.map() for other in others)):
        assert set(found.extras) == names
        for name in names:
            np.testing.assert_array_equal(found.extras[name], mine.extras[name])
    if names == {"marks"}:
        for sample in samples[0]:
            marks = sample.extras["marks"]
            np.testing.assert_array_equal(marks[:, 0] > marks[:, 1:].T, sample.Z)


def test_fewer_draws_are_kept_whole_where_there_are_many_numbers(rng, monkeypatch):
    from ddibp.sampling import chains

    monkeypatch.setattr(chains, "_MOST_IMPUTED", 200)
    monkeypatch.setattr(chains, "_FEWEST_IMPUTED_DRAWS", 3)
    posterior = sample_posterior(PRIORS["smooth"], LinearGaussian(0.5, 1.2), small_data(rng), T, **PLAN)
    assert [len(list(posterior.full_samples(most))) for most in (None, 100, 3)] == [6, 6, 3]
    assert len(posterior.imputation_draws()) == 6
    assert len(list(posterior.samples())) == 12
    every = list(posterior.samples())
    for place, sample in enumerate(posterior.full_samples()):
        np.testing.assert_array_equal(sample.Z, every[2 * place][0])
    assert np.isfinite(predict(posterior, np.zeros((1, 2)), [1.0]).log_density).all()


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_the_predictive_density_integrates_to_one(prior, rng):
    posterior = sample_posterior(prior, LinearGaussian(0.5, 1.0), small_data(rng)[:, :1], T, **PLAN)
    x = np.linspace(-25.0, 25.0, 501)
    found = predict(posterior, x[:, None], np.full(x.size, 2.0), draws=5)
    assert np.trapezoid(np.exp(found.log_density), x) == pytest.approx(1.0, abs=1e-3)


def test_a_mixture_is_the_sum_over_its_components(rng):
    """Densities, moments and draws of mixed rows against the components one by one."""
    Z, X = rng.random((20, 3)) < 0.5, rng.normal(size=(20, 2))
    weights = rows.weigh(X, Z, {"sigma_x": 0.5, "sigma_w": 1.0})
    new = np.array([[0.5, np.nan], [np.nan, np.nan], [-1.0, 0.3]])
    row = np.array([0, 0, 1, 1, 1, 2])
    weight = np.array([0.3, 0.7, 0.2, 0.5, 0.3, 1.0])
    p, rate = rng.random((6, 3)), rng.uniform(0.1, 1.0, 6)
    (found,) = rows.mixed_sums(weights, new, Inheritance(row, weight, p, rate), 20_000, 16, 1, rng)
    for i in range(3):
        own = row == i
        parts = list(rows.sums(weights, np.tile(new[i], (own.sum(), 1)), p[own], rate[own], 0, 16, 1, rng))
        (part,) = parts
        joint = weight[own] * np.exp(part.log_density)
        share = joint / joint.sum()
        assert np.exp(found.log_density[i]) == pytest.approx(joint.sum())
        np.testing.assert_allclose(found.probabilities[i], share @ part.probabilities)
        np.testing.assert_allclose(found.fresh[i], share @ part.fresh)
        np.testing.assert_allclose(found.mean[i], share @ part.mean)
        second = share @ (part.variance + part.mean**2)
        np.testing.assert_allclose(found.variance[i], second - found.mean[i] ** 2, atol=1e-12)
        np.testing.assert_allclose(found.features[:, i].mean(axis=0), found.probabilities[i], atol=0.02)
        missing = np.isnan(new[i])
        sd = np.sqrt(found.variance[i] + 0.25)[missing]
        errors = np.abs(found.entries[:, i].mean(axis=0) - found.mean[i])[missing]
        assert (errors < 5.0 * sd / np.sqrt(20_000)).all()


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_kind_errors(rng):
    with pytest.raises(ValueError, match=r"row 1 out of reach of all fitted rows.*cutoff=0"):
        inherit(AIBD(Exponential(1.0), cutoff=0.1), {"alpha": 1.0}, {}, new=np.array([1.1, 9.0]))
    with pytest.raises(ValueError, match=r"posterior holds no lenders of its draws.*Fit anew"):
        inherit(PRIORS["customer"], {"gamma": 1.0}, {})
    posterior = sample_posterior(PRIORS["smooth"], LinearGaussian(0.5, 1.2), small_data(rng), T, **PLAN)
    with pytest.raises(ValueError, match="covariates_new must be given"):
        extend(posterior, np.zeros((1, 2)))
    with pytest.raises(ValueError, match="covariates_new describe 2 rows, but X_new has 1"):
        extend(posterior, np.zeros((1, 2)), [1.0, 2.0])
    with pytest.raises(ValueError, match="groups_new must be left out"):
        newcomers.newcomers(posterior, 1, [1.0], ["a"])
