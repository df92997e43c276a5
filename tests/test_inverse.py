"""The inverse problem of sharing: gradients, exact recovery where possible, honest residuals where not."""

from __future__ import annotations

import numpy as np
import pytest

from ddibp import DDIBP, DHBP, IBP, Constant, Exponential, Logistic, Proximity, Window, sharing
from ddibp.sharing.inverse import _sequential_objective


def test_gradient_is_the_derivative(rng):
    n = 6
    free = np.tril_indices(n, -1)
    theta = -3.0 * rng.random(15)
    wanted, weight = rng.random((n, n)), (rng.random((n, n)) < 0.7) * (1.0 - np.eye(n))
    gradient = _sequential_objective(theta, wanted, weight, free)[1]
    for e, g in zip(np.eye(15), gradient, strict=True):
        up, down = (_sequential_objective(theta + s * 1e-6 * e, wanted, weight, free)[0] for s in (1, -1))
        assert g == pytest.approx((up - down) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("decay", [Exponential(0.5), Logistic(2.0, 3.0)])
def test_sequential_distances_are_recovered(decay, rng):
    t = np.sort(rng.uniform(0, 8, 12))
    wanted = sharing.limiting_fraction(DDIBP(decay, alpha=1.0, sequential=True), t)
    fit = sharing.fit_distances(wanted, decay)
    assert fit.converged
    assert fit.residual < 1e-8
    lower = np.tril_indices(12, -1)
    np.testing.assert_allclose(fit.distances[lower], np.abs(t[:, None] - t)[lower], atol=1e-3)
    again = sharing.limiting_fraction(DDIBP(decay, alpha=1.0), Proximity.from_distances(fit.distances, decay))
    np.testing.assert_allclose(again.values, fit.fractions, atol=1e-9)


def test_symmetric_distances_reach_the_wanted_fractions(rng):
    points = rng.uniform(0, 2, (5, 2))
    prior = DDIBP(Exponential(1.0), alpha=1.0)
    fit = sharing.fit_distances(sharing.limiting_fraction(prior, points), Exponential(1.0), sequential=False)
    assert fit.residual < 1e-6
    np.testing.assert_array_equal(fit.distances, fit.distances.T)
    again = sharing.limiting_fraction(prior.set_params(metric="precomputed"), fit.distances)
    np.testing.assert_allclose(again.values, fit.fractions, atol=1e-8)


def test_what_cannot_be_had_leaves_a_residual():
    """Two sequential rows share at most half of their features."""
    fit = sharing.fit_distances([[1.0, 0.8], [0.8, 1.0]], Exponential(1.0))
    assert fit.fractions[0, 1] == pytest.approx(0.5, abs=1e-6)
    assert fit.residual == pytest.approx(0.3, abs=1e-6)
    assert fit.largest_error == pytest.approx(0.3, abs=1e-6)
    assert fit.distances[1, 0] == pytest.approx(0.0, abs=1e-6)


def test_nothing_shared_means_out_of_reach_and_nan_means_anything():
    wanted = np.array([[1.0, 0.0, np.nan], [0.0, 1.0, 0.4], [np.nan, np.nan, 1.0]])
    fit = sharing.fit_distances(wanted, Exponential(1.0))
    assert fit.residual < 1e-6
    assert fit.fractions[1, 0] < 1e-6
    assert fit.fractions[2, 1] == pytest.approx(0.4, abs=1e-6)


def test_decay_parameters_are_recovered():
    t = np.arange(20.0)
    for truth, start in (
        (DDIBP(Exponential(0.07), 1.0, True), DDIBP(Exponential(1.0), 1.0, True)),
        (DDIBP(Logistic(2.0, 3.0), 1.0, True), DDIBP(Logistic(1.0, 1.0), 1.0, True)),
        (DHBP(Exponential(0.2)), DHBP(Exponential(5.0))),
    ):
        fit = sharing.fit_decay(sharing.limiting_fraction(truth, t), t, start)
        assert fit.residual < 1e-7
        for name, value in truth.decay.get_params().items():
            assert getattr(fit.prior.decay, name) == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sharing.fit_distances([[1.0]], Exponential()), "at least two rows"),
        (lambda: sharing.fit_distances(np.ones((2, 3)), Exponential()), "square matrix"),
        (lambda: sharing.fit_distances([[1.0, 1.5], [0.2, 1.0]], Exponential()), r"fractions in \[0, 1\], got 1.5"),
        (lambda: sharing.fit_distances(np.full((2, 2), np.nan), Exponential()), "not NaN"),
        (lambda: sharing.fit_distances(np.full((2, 2), 0.3), Window()), "fall continuously"),
        (lambda: sharing.fit_distances(np.full((2, 2), 0.3), Constant()), "fall continuously"),
        (lambda: sharing.fit_distances(np.full((11, 11), 0.3), Exponential(), sequential=False), "at most 10 rows"),
        (lambda: sharing.fit_decay(np.full((2, 2), 0.3), [0.0, 1.0], IBP()), "prior must have a decay"),
        (lambda: sharing.fit_decay(np.full((2, 2), 0.3), [0.0, 1.0], DDIBP(Constant())), "one or two numbers"),
        (lambda: sharing.fit_decay(np.full((2, 2), 0.3), [0.0, 1.0], DDIBP(Exponential(0.0))), "decay.beta must be"),
        (lambda: sharing.fit_decay(np.full((2, 2), 0.3), [0.0, 1.0, 2.0], DDIBP()), "covariates describe 3 rows"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
