"""The dependent IBP against brute force, closed forms and reductions; draws against the exact law.

Comparisons of draws are chi-square tests; `laws_of_tests.FALSE_ALARM_RATE` is the false-alarm rate of a test function.
Estimates have a fixed seed, so that their comparisons never change.
"""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import integrate, stats

from ddibp import DIBP, IBP, Gamma, contract, registry, sharing
from ddibp.cli import main
from ddibp.priors import _probit
from ddibp.priors._probit import Field, draw_new, draw_taken, shared_part
from laws_of_tests import assert_law, assert_poisson, chi_square_p
from reference import dibp as reference
from reference.links import patterns

kernels = pytest.importorskip("sklearn.gaussian_process.kernels")

T3, T4 = np.array([0.0, 0.7, 2.0]), np.array([0.0, 0.7, 1.1, 3.0])
PRIOR = DIBP("rbf", alpha=2.0, nugget=0.1)
OPPOSED = DIBP(kernels.DotProduct(sigma_0=0.3), alpha=2.0, nugget=0.1)  # correlations of both signs
T_OPPOSED = np.array([-1.0, 0.8, 1.5])
EXAMPLES = [(PRIOR, T3), (PRIOR, T4), (OPPOSED, T_OPPOSED)]


def rates_of(prior, t):
    return reference.pattern_rates(prior.correlation(t), prior.alpha)


def columns(n):
    return np.array(patterns(n)).T


def column_counts(Z, n):
    seen = Counter(map(tuple, np.asarray(Z).T.astype(int).tolist()))
    return [seen[z] for z in patterns(n)]


# Correlations


@pytest.mark.parametrize("name", reference.KERNELS)
@pytest.mark.parametrize("t", [T4, np.array([[0.0, 1.0], [0.5, 0.2], [2.0, 1.0]])], ids=["line", "plane"])
def test_correlations_are_those_of_the_kernel(name, t):
    prior = DIBP(name, length_scale=1.7, variance=2.0, nugget=0.3)
    expected = reference.correlation(t, reference.KERNELS[name], 1.7, 2.0, 0.3)
    np.testing.assert_allclose(prior.correlation(t), expected, rtol=1e-12)


def test_a_kernel_object_is_used_as_it_stands():
    np.testing.assert_array_equal(
        DIBP(kernels.RBF(3.0), nugget=0.2).correlation(T4), DIBP("rbf", length_scale=3.0, nugget=0.2).correlation(T4)
    )
    C = OPPOSED.correlation(T_OPPOSED)
    total = 0.09 + T_OPPOSED**2 + 0.1
    expected = (0.09 + np.outer(T_OPPOSED, T_OPPOSED)) / np.sqrt(np.outer(total, total))
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(C, expected, rtol=1e-12)
    assert C.min() < -0.5


def test_parameters_with_a_prior_count_at_their_mean():
    learned = DIBP(length_scale=Gamma(2.0, 1.0), variance=Gamma(3.0, 1.0), nugget=Gamma(1.0, 10.0))
    assert set(learned.learned) == {"length_scale", "variance", "nugget"}
    fixed = DIBP(length_scale=2.0, variance=3.0, nugget=0.1)
    assert fixed.learned == {}
    np.testing.assert_array_equal(learned.correlation(T4), fixed.correlation(T4))


def test_rows_of_different_groups_share_as_under_the_ibp():
    prior = DIBP(alpha=3.0, nugget=0.0)
    groups = ["a", "b", "a", "b"]
    C = prior.correlation([0.0, 0.0, 0.5, 0.5], groups=groups)
    np.testing.assert_allclose(C[0], [1.0, 0.0, math.exp(-0.125), 0.0])
    S = prior.expected_sharing(prior.field([0.0, 0.0, 0.5, 0.5], groups=groups))
    assert S[0, 1] == pytest.approx(1.5, rel=1e-14)
    command = "sharing --prior dibp --alpha 3 --nugget 0 --covariates - --covariate t --group g --seed 1"
    result = CliRunner().invoke(main, shlex.split(command), input="t,g\n0,a\n0,b\n0.5,a\n0.5,b\n")
    assert result.exit_code == 0, result.output
    np.testing.assert_allclose(np.loadtxt(result.stdout.splitlines()[1:], delimiter=","), S)


# Sharing


def test_shared_part_at_known_correlations():
    J = shared_part([-1.0, 0.0, 0.5, 0.9, 1.0])
    np.testing.assert_allclose(J[[0, 1, 4]], [1.0 - math.log(2.0), 0.5, 1.0], rtol=1e-14)
    np.testing.assert_allclose(5.0 * J[2:4], [3.215, 4.196], atol=5e-4)


@pytest.mark.parametrize("rho", [-0.999, -0.7, -0.2, 0.1, 0.5, 0.9, 0.999, 1.0 - 1e-9])
def test_shared_part_against_an_integral(rho):
    """P(h_1 < τ, h_2 < τ) by Owen's function; the slope's angle makes the integrand smooth."""
    from scipy.special import log_ndtr, ndtr, owens_t

    def integrand(tau):
        both = ndtr(tau) - 2.0 * owens_t(tau, math.sqrt((1.0 - rho) / (1.0 + rho)))
        return both * math.exp(-0.5 * tau**2 - log_ndtr(tau)) / math.sqrt(2.0 * math.pi)

    value = integrate.quad(integrand, -12.0, 12.0, epsabs=1e-13, epsrel=1e-13, limit=400, points=[0.0])[0]
    assert float(shared_part(rho)) == pytest.approx(value, abs=1e-11)


@pytest.mark.parametrize(("prior", "t"), EXAMPLES)
def test_sharing_is_the_sum_of_the_rates(prior, t):
    rates, Z = rates_of(prior, t), columns(len(t))
    expected = (Z * list(rates.values())) @ Z.T
    np.testing.assert_allclose(prior.expected_sharing(t), expected, rtol=1e-11)
    np.testing.assert_array_equal(prior.sharing(t).limiting_fractions()[0][0], prior.sharing(t).unit_means[0])


# Probabilities


@pytest.mark.parametrize("t", [np.array([0.0, 0.4]), np.array([-1.0, 0.8])])
@pytest.mark.parametrize("prior", [PRIOR, OPPOSED])
def test_two_rows_are_exact(prior, t):
    rates = rates_of(prior, t)
    value, error = prior.log_rate(columns(2), t, return_error=True)
    np.testing.assert_allclose(value, np.log(list(rates.values())), rtol=0, atol=1e-11)
    assert not error.any()
    assert prior.expected_features(t, return_error=True) == (pytest.approx(sum(rates.values()), rel=1e-11), 0.0)


def test_one_row_is_exact():
    assert PRIOR.expected_features([3.0]) == 2.0
    assert PRIOR.log_rate([[1, 0]], [3.0]).tolist() == [math.log(2.0), -math.inf]
    assert PRIOR.logpmf([[1, 1]], [3.0]) == pytest.approx(stats.poisson.logpmf(2, 2.0), rel=1e-14)


@pytest.mark.parametrize(("prior", "t"), EXAMPLES)
def test_estimates_are_brute_force_within_their_errors(prior, t):
    rates = np.log(list(rates_of(prior, t).values()))
    value, error = prior.log_rate(columns(len(t)), t, n_points=2**15, return_error=True)
    assert np.abs(value - rates).max() < 5e-3
    assert 1e-6 < error.min() < error.max() < 2e-3
    assert np.sqrt(np.mean(((value - rates) / error) ** 2)) < 2.0
    total, total_error = prior.expected_features(t, return_error=True)
    assert abs(total - np.exp(rates).sum()) < min(4.0 * total_error, 0.01)
    # A test of the test: half the nugget is told apart.
    wrong = prior.set_params(nugget=0.05)
    assert np.abs(wrong.log_rate(columns(len(t)), t) - rates).max() > 0.02
    assert abs(wrong.expected_features(t) - np.exp(rates).sum()) > 0.02


@pytest.mark.parametrize("alpha", [2.0, Gamma(2.0, 1.5)])
def test_the_pmf_is_made_of_rates(alpha):
    prior = PRIOR.set_params(alpha=alpha)
    rates = reference.pattern_rates(prior.correlation(T3))
    Z = np.array([[1, 1, 0, 0, 1], [1, 1, 1, 1, 0], [0, 0, 0, 1, 1]])
    total, logs = sum(rates.values()), math.log(2.0)  # two equal columns: 2!
    known = sum(math.log(rates[tuple(z)]) for z in Z.T.tolist()) - logs
    if isinstance(alpha, Gamma):
        known += alpha.log_poisson_evidence(5, total)
    else:
        known += 5 * math.log(alpha) - alpha * total
    value, error = prior.logpmf(Z, T3, return_error=True)
    assert abs(value - known) < 4.0 * error < 0.05
    assert prior.logpmf(Z, T3) == value
    assert prior.logpmf(Z[:, ::-1], T3) == pytest.approx(value, abs=1e-12)
    assert prior.logpmf(np.zeros((3, 1)), T3) == -math.inf
    assert prior.logpmf(np.zeros((3, 0)), T3, return_error=True)[1] > 0.0


def test_a_row_that_is_left_out_changes_nothing():
    """Rates of the first two rows, exact, are sums over the third."""
    two = np.exp(PRIOR.log_rate(columns(2), T3[:2]))
    three = dict(zip(patterns(3), np.exp(PRIOR.log_rate(columns(3), T3, n_points=2**15)), strict=True))
    np.testing.assert_allclose([three[(*z, 0)] + three[(*z, 1)] for z in patterns(2)], two, rtol=1e-3)


def test_more_points_less_error():
    t = np.arange(20.0)
    Z = PRIOR.set_params(length_scale=4.0).sample(t, rng=1)
    few, many = (PRIOR.log_rate(Z, t, n_points=n, return_error=True) for n in (256, 2**14))
    assert many[1].mean() < 0.3 * few[1].mean()
    assert np.abs(few[0] - many[0]).max() < 5.0 * few[1].max()


@pytest.mark.parametrize("nugget", [0.1, 0.0])
def test_estimates_for_many_and_smooth_rows_are_those_of_draws(nugget, rng):
    """Columns that everybody has, and those of the first half, number Poisson(rate)."""
    t = np.linspace(0.0, 3.0, 60)
    prior = DIBP(alpha=4000.0, nugget=nugget)
    Z = prior.sample(t, rng=rng)
    wanted = np.column_stack([np.ones(60, bool), t < 1.5])
    value, error = prior.log_rate(wanted, t, n_points=2048, return_error=True)
    assert (error < 0.1).all()
    for k in range(2):
        rate, seen = np.exp(value[k]), (wanted[:, [k]] == Z).all(axis=0).sum()
        assert abs(seen - rate) < 4.9 * math.hypot(math.sqrt(rate), rate * error[k])
    wrong = np.exp(prior.set_params(nugget=nugget + 0.2).log_rate(wanted, t, n_points=2048)[0])
    assert abs((Z.all(axis=0)).sum() - wrong) > 4.9 * math.sqrt(wrong)


def test_impossible_looking_columns_have_finite_estimates():
    t = np.linspace(0.0, 3.0, 40)
    value, error = DIBP(nugget=0.0).log_rate(np.arange(40)[:, None] % 2, t, n_points=512, return_error=True)
    assert -math.inf < value[0] < -50.0
    assert np.isfinite(error[0])


# Reductions


def test_without_variance_it_is_the_ibp():
    t, ibp = np.arange(6.0), IBP(2.0)
    prior = DIBP(alpha=2.0, variance=0.0)
    Z = ibp.sample(6, rng=1)
    np.testing.assert_allclose(prior.log_rate(Z, t), ibp.log_rate(Z), rtol=1e-14)
    assert prior.expected_features(t) == pytest.approx(ibp.expected_features(6), rel=1e-14)
    assert prior.logpmf(Z, t) == pytest.approx(ibp.logpmf(Z), rel=1e-14)
    np.testing.assert_allclose(prior.expected_sharing(t), ibp.expected_sharing(6), rtol=1e-14)


def test_with_a_vanishing_variance_estimates_approach_the_ibp():
    """The same by quasi Monte Carlo, to three digits; sharing needs none."""
    t, ibp, prior = np.arange(6.0), IBP(2.0), DIBP(alpha=2.0, variance=1e-14, nugget=1.0)
    Z = ibp.sample(6, rng=1)
    assert np.abs(prior.log_rate(Z, t) - ibp.log_rate(Z)).max() < 1e-3
    assert prior.expected_features(t) == pytest.approx(ibp.expected_features(6), rel=3e-3)
    np.testing.assert_allclose(prior.expected_sharing(t), ibp.expected_sharing(6), rtol=1e-13)


def test_equal_rows_are_the_same(rng):
    t, prior = np.full(5, 2.0), DIBP(alpha=2.0, nugget=0.0)
    draws = [prior.sample(t, rng=rng) for _ in range(1500)]
    assert all(Z.all() for Z in draws)
    assert_poisson([Z.shape[1] for Z in draws], 2.0)
    assert prior.expected_features(t) == 2.0
    np.testing.assert_array_equal(prior.expected_sharing(t), np.full((5, 5), 2.0))
    assert prior.log_rate([[1, 1], [1, 1], [1, 0], [1, 1], [1, 1]], t).tolist() == [math.log(2.0), -math.inf]
    # A test of the test: with a nugget rows differ.
    assert not all(PRIOR.sample(t, rng=rng).all() for _ in range(20))


def test_a_copy_among_others_adds_nothing():
    prior = DIBP(alpha=2.0, nugget=0.0)
    copied = T3[[0, 1, 0, 2]]
    Z = columns(3)
    np.testing.assert_array_equal(prior.log_rate(Z[[0, 1, 0, 2]], copied), prior.log_rate(Z, T3))
    assert prior.expected_features(copied) == prior.expected_features(T3)
    draw = prior.sample(copied, rng=3)
    np.testing.assert_array_equal(draw[0], draw[2])


# Draws


@pytest.mark.parametrize(("prior", "t"), EXAMPLES)
def test_columns_follow_the_exact_law(prior, t, rng):
    rates = np.array(list(rates_of(prior, t).values()))
    many = prior.set_params(alpha=20_000.0)
    Z = many.sample(t, rng=rng)
    assert_law(column_counts(Z, len(t)), rates / rates.sum(), 2)
    field = prior.field(t)
    assert_poisson([prior.sample(field, rng=rng).shape[1] for _ in range(2000)], rates.sum(), 2)
    # Tests of the test: less nugget, and rows that are not the first to take a dish.
    for wrong in (many.set_params(nugget=0.05).sample(t, rng=rng), keep_everything(many, t, rng)):
        assert chi_square_p(column_counts(wrong, len(t)), rates / rates.sum()) < 1e-8


def keep_everything(prior, t, rng):
    rows = np.repeat(np.arange(len(t)), rng.poisson(prior.alpha, len(t)))
    return draw_taken(prior.field(t), rows, rng).z


@pytest.mark.parametrize(("prior", "t"), EXAMPLES[1:])
def test_numbers_of_features_are_poisson(prior, t, rng):
    field, n = prior.field(t), len(t)
    R = np.stack([(Z := prior.sample(field, rng=rng).astype(int)) @ Z.T for _ in range(3000)])
    J = shared_part(field.matrix)
    for i, j in zip(*np.triu_indices(n), strict=True):
        assert_poisson(R[:, i, j], prior.alpha * J[i, j], n * (n + 1) // 2)
    # A test of the test: sharing as under the IBP is ruled out.
    top = np.arange(R[:, 1, 2].max() + 1)
    law = stats.poisson.pmf(top, 0.5 * prior.alpha)
    assert chi_square_p(np.bincount(R[:, 1, 2]), law / law.sum()) < 1e-8


def test_dishes_taken_by_a_row_follow_the_exact_law(rng):
    """Patterns with their taker, uniform weights, and values below the threshold exactly where the dish is taken."""
    C = PRIOR.correlation(T3)
    rates = reference.pattern_rates(C)
    dishes = draw_taken(Field(C), np.full(20_000, 1), rng)
    law = [rate if z[1] else 0.0 for z, rate in rates.items()]
    assert_law(column_counts(dishes.z, 3), law, 3)
    assert_law(np.bincount((dishes.b * 20 - 1e-12).astype(int), minlength=20), np.full(20, 0.05), 3)
    np.testing.assert_array_equal(dishes.z, stats.norm.cdf(dishes.h) <= dishes.b)
    below = stats.norm.cdf(dishes.h[1]) / dishes.b
    assert_law(np.bincount((below * 20 - 1e-12).astype(int), minlength=20), np.full(20, 0.05), 3)
    # A test of the test: the taker's value may not go unnoticed by the others.
    alone = draw_taken(Field(np.eye(3)), np.full(20_000, 1), rng)
    assert chi_square_p(column_counts(alone.z, 3), law) < 1e-8


def test_draws_in_blocks_have_the_same_law(rng, monkeypatch):
    monkeypatch.setattr(_probit, "_ENTRIES_PER_BLOCK", 30)
    rates = np.array(list(rates_of(PRIOR, T3).values()))
    rows = np.repeat(np.arange(3), 3000)
    new = draw_new(PRIOR.field(T3), rows, rng)
    assert new.z.shape == new.h.shape == (3, new.b.size)
    assert_law(column_counts(new.z, 3), rates / rates.sum())
    assert draw_new(PRIOR.field(T3), rows[:0], rng).z.shape == (3, 0)


def test_columns_are_ordered_by_their_first_row():
    Z = PRIOR.sample(np.arange(30.0), rng=5)
    assert Z.dtype == bool
    assert Z.any(axis=0).all()
    assert np.all(np.diff(np.argmax(Z, axis=0)) >= 0)
    np.testing.assert_array_equal(Z, PRIOR.sample(np.arange(30.0), rng=np.random.default_rng(5)))


def test_parameters_with_a_prior_are_drawn(rng):
    """Numbers of shared features are Poisson given a random nugget; a fixed one is told apart."""
    nugget, t = Gamma(0.5, 0.5), [0.0, 0.0]
    prior = DIBP(alpha=3.0, nugget=nugget)
    R = np.array([prior.sample(t, rng=rng).all(axis=0).sum() for _ in range(4000)])
    v = stats.gamma(0.5, scale=2.0).ppf((np.arange(4000) + 0.5) / 4000)
    law = stats.poisson.pmf(np.arange(40)[:, None], 3.0 * shared_part(1.0 / (1.0 + v))).mean(axis=1)
    assert_law(np.bincount(R, minlength=40), law / law.sum())
    fixed = stats.poisson.pmf(np.arange(40), 3.0 * shared_part(0.5))
    assert chi_square_p(np.bincount(R, minlength=40), fixed / fixed.sum()) < 1e-8


def test_a_gamma_mass_is_drawn(rng):
    prior = DIBP(alpha=Gamma(1.0, 1.0), nugget=0.0)
    counts = [prior.sample([1.0, 1.0], rng=rng).shape[1] for _ in range(3000)]
    pmf = 0.5 ** np.arange(1.0, 61.0)  # geometric
    assert_law(np.bincount(counts, minlength=60), pmf / pmf.sum())


def test_simulated_sharing_is_the_prior_s(rng):
    R = sharing.simulate(PRIOR, T3, n_draws=2000, rng=rng)
    assert np.abs(R.mean(axis=0) - PRIOR.expected_sharing(T3)).max() < 6.0 * math.sqrt(2.0 / 2000)


# What samplers take


@pytest.mark.parametrize("t", [T4, T4[[0, 1, 1, 3, 0]], np.linspace(0.0, 1.0, 40)], ids=["well", "copies", "smooth"])
def test_factors_give_the_correlations_back(t):
    field = DIBP(nugget=0.0).field(t)
    np.testing.assert_allclose(field.factor @ field.factor.T, field.matrix, atol=1e-13)
    np.testing.assert_array_equal(field.distinct[field.kind], [list(t).index(x) for x in t])


def test_the_inverse_is_one_or_there_is_none():
    field = PRIOR.field(T4)
    np.testing.assert_allclose(field.inverse @ field.matrix, np.eye(4), atol=1e-12)
    for t in ([0.0, 0.0, 1.0], np.linspace(0.0, 0.1, 40)):
        with pytest.raises(ValueError, match=r"nugget must be positive, .* correlations have no inverse"):
            DIBP(nugget=0.0).field(t).inverse


# Values


def test_it_is_a_value_and_a_feature_process():
    assert isinstance(PRIOR, contract.FeatureProcess)
    prior = DIBP(kernels.Matern(2.0, nu=1.5), alpha=3.0, length_scale=Gamma(2.0, 1.0))
    assert prior == prior.set_params() == eval(repr(prior), {**vars(kernels), "DIBP": DIBP, "Gamma": Gamma})
    assert hash(prior) == hash(prior.set_params())
    assert prior != prior.set_params(kernel="rbf")
    assert prior.set_params(length_scale__rate=4.0).length_scale == Gamma(2.0, 4.0)
    assert prior.get_params()["length_scale__shape"] == 2.0
    assert DIBP(**prior.get_params(deep=False)) == prior
    assert registry.make_prior("dibp", alpha=2.0, nugget=0.1) == PRIOR


@pytest.mark.parametrize(
    "kernel",
    [
        "matern52",
        kernels.RBF(2.0),
        kernels.RBF([1.0, 2.0], length_scale_bounds="fixed"),
        kernels.RBF(np.array([1.0, 2.0])),
        kernels.Matern(1.5, (0.1, 10.0), nu=2.5),
        2.0 * kernels.RBF(1.0) + kernels.WhiteKernel(0.1),
        kernels.ExpSineSquared(1.0, 12.0) * kernels.RationalQuadratic() ** 2,
        kernels.PairwiseKernel(metric="polynomial", pairwise_kernels_kwargs={"degree": 2}),
    ],
    ids=str,
)
def test_descriptions_come_back(kernel):
    prior = DIBP(kernel, alpha=Gamma(2.0, 1.0), length_scale=2.0)
    restored = registry.restore(json.loads(json.dumps(registry.describe(prior))))
    assert restored == prior
    assert repr(restored) == repr(prior)
    t = np.random.default_rng(1).random((4, 2))
    np.testing.assert_array_equal(restored.correlation(t), prior.correlation(t))


class Mine(kernels.RBF):
    pass


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Mine(), "Mine is not a kernel of sklearn.gaussian_process.kernels"),
        (kernels.PairwiseKernel(metric=lambda x, y: float(x @ y)), "PairwiseKernel has a function of yours as its"),
    ],
)
def test_descriptions_of_what_is_not_scikit_learn_s_are_not_followed(kernel, message):
    description = json.loads(json.dumps(registry.describe(DIBP(kernel))))
    with pytest.raises(ValueError, match=message):
        registry.restore(description)


def test_only_kernels_are_made():
    for name in ("clone", "ABCMeta", "cdist", "no_such_thing", "np"):
        with pytest.raises(ValueError, match=f"{name} is not a kernel of sklearn"):
            registry.restore({"class": f"sklearn.gaussian_process.kernels.{name}"})


def test_scikit_learn_is_imported_late():
    code = (
        "import sys, ddibp; p = ddibp.DIBP(alpha=1.0); repr(p); hash(p); ddibp.registry.describe(p);"
        "print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# Bad input


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: DIBP("gauss"), ValueError, "kernel must be one of 'rbf', 'matern12', .*, got 'gauss'"),
        (lambda: DIBP(kernels.RBF), TypeError, "kernel must be a name .* or an instance of a kernel"),
        (lambda: DIBP(3.0), TypeError, "kernel must be a name .*, got 3.0"),
        (lambda: DIBP(alpha=0.0), ValueError, "alpha must be a number in"),
        (lambda: DIBP(length_scale=0.0), ValueError, "length_scale must be a number in .*, got 0.0"),
        (lambda: DIBP(length_scale="long"), TypeError, "length_scale must be a number, got 'long'"),
        (lambda: DIBP(variance=-1.0), ValueError, "variance must be a number in .*, got -1.0"),
        (lambda: DIBP(nugget=math.nan), ValueError, "nugget must be a number in .*, got nan"),
        (lambda: DIBP(variance=0.0, nugget=0.0), ValueError, "nugget must be positive where variance is 0"),
        (lambda: PRIOR.sample([]), ValueError, "covariates must have at least one row"),
        (lambda: PRIOR.sample([0.0, math.nan]), ValueError, "covariates must be finite, got nan in row 1"),
        (lambda: PRIOR.sample(["a", "b"]), TypeError, "covariates must be numbers"),
        (lambda: PRIOR.sample(5), ValueError, "covariates must be a vector or a matrix"),
        (lambda: PRIOR.sample([0.0, 1.0], rng=-1), ValueError, "rng must be a non-negative int"),
        (lambda: PRIOR.correlation([0.0, 1.0], groups=["a"]), ValueError, "groups must have one label per row"),
        (lambda: PRIOR.field(PRIOR.field(T3), groups=[1, 1, 2]), ValueError, "groups must be given when the field is"),
        (lambda: PRIOR.log_rate(np.ones((2, 1)), T3), ValueError, "Z has 2 rows, but the covariates describe 3"),
        (lambda: PRIOR.logpmf(np.full((3, 1), 2), T3), ValueError, "Z must hold 0 and 1 only"),
        (lambda: PRIOR.log_rate(np.ones((3, 1)), T3, n_points=0), ValueError, "n_points must be at least 1, got 0"),
        (lambda: PRIOR.expected_features(T3, n_points=1.5), TypeError, "n_points must be a whole number"),
        (
            lambda: DIBP(kernels.DotProduct(0.0), nugget=0.0).correlation([0.0, 1.0]),
            ValueError,
            r"nugget must be positive where the kernel has no variance: .* gives 0 in row 0",
        ),
        (
            lambda: DIBP(kernels.CompoundKernel([kernels.RBF(), kernels.RBF()])).correlation(T3),
            ValueError,
            r"kernel must give a finite number for every pair of rows, .* gives an array of shape \(3, 3, 2\)",
        ),
        (
            lambda: DIBP(kernels.DotProduct()).correlation([1e200, 1.0]),
            ValueError,
            "kernel must give a finite number .* that is not finite",
        ),
        (lambda: PRIOR.correlation(np.zeros(10_000_000)), ValueError, "A matrix over all pairs of 10,000,000 rows"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_bad_input_is_told_in_a_sentence(make, error, message):
    with pytest.raises(error, match=message):
        make()
