"""Decays: values, logs, reach, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ddibp
from ddibp import Constant, CustomDecay, Exponential, Logistic, Window, registry

DECAYS = [Constant(), Exponential(0.0), Exponential(0.7), Logistic(1.3, 2.0), Logistic(0.5, -3.0), Window(2.5)]
GAUSSIAN = CustomDecay(lambda d: np.exp(-0.5 * d**2))


def test_values_are_the_papers():
    d = np.array([0.0, 1.0, 2.5, 7.0])
    np.testing.assert_array_equal(Constant()(d), np.ones(4))
    np.testing.assert_allclose(Exponential(0.7)(d), np.exp(-0.7 * d), rtol=1e-15)
    np.testing.assert_allclose(Logistic(1.3, 2.0)(d), 1 / (1 + np.exp(1.3 * d - 2.0)), rtol=1e-15)
    np.testing.assert_array_equal(Window(2.5)(d), [1, 1, 0, 0])
    np.testing.assert_array_equal(Exponential(0.0)(d), np.ones(4))


@pytest.mark.parametrize("decay", [*DECAYS, GAUSSIAN], ids=[*map(repr, DECAYS), "custom"])
def test_every_decay_keeps_the_contract(decay):
    d = np.concatenate([[0.0], np.logspace(-3, 3, 200), [np.inf]])
    f = decay(d)
    assert f.shape == d.shape
    assert 0 < f[0] <= 1
    assert f[-1] == 0
    assert np.all(np.diff(f) <= 0)
    np.testing.assert_allclose(np.exp(decay.log(d)), f, rtol=1e-12)
    assert isinstance(decay(1.0), float)
    assert isinstance(decay.log(1.0), float)
    assert decay(d.reshape(2, -1)).shape == (2, d.size // 2)


@pytest.mark.parametrize("decay", [*DECAYS, GAUSSIAN], ids=[*map(repr, DECAYS), "custom"])
@pytest.mark.parametrize("tolerance", [1e-9, 1e-3, 0.2, 0.97])
def test_reach_is_where_the_decay_has_fallen_to_the_tolerance(decay, tolerance):
    reach = decay.reach(tolerance)
    if math.isinf(reach):
        assert decay(1e9) > tolerance
        return
    assert decay(reach) <= tolerance * (1 + 1e-9)
    if reach > 0:
        assert decay(reach * (1 - 1e-9)) >= tolerance * (1 - 1e-6)


def test_reach_of_the_named_decays():
    assert Window(2.5).reach(0.0) == 2.5
    assert Exponential(0.5).reach(1e-3) == pytest.approx(math.log(1e3) / 0.5)
    assert Exponential(0.5).reach(0.0) == math.inf
    assert Logistic(2.0, 3.0).reach(0.25) == pytest.approx((3.0 + math.log(3.0)) / 2.0)
    assert Constant().reach(0.5) == math.inf


def test_logs_do_not_underflow():
    assert Exponential(1.0).log(5000.0) == -5000.0
    assert Logistic(1.0, 2.0).log(5000.0) == -4998.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Exponential(-1.0), "beta must be a number in"),
        (lambda: Exponential("fast"), "beta must be a number, got 'fast'"),
        (lambda: Exponential(math.nan), "beta must be a number in"),
        (lambda: Logistic(0.0, 1.0), "beta must be a number in"),
        (lambda: Logistic(1.0, math.inf), "nu must be a number in"),
        (lambda: Window(0.0), "nu must be a number in"),
        (lambda: CustomDecay(3.0), "callable"),
        (lambda: CustomDecay(lambda d: 1.0 + d), r"lie in \[0, 1\]"),
        (lambda: CustomDecay(lambda d: np.where(d < 1, -0.5, 0.0)), r"lie in \[0, 1\]"),
        (lambda: CustomDecay(lambda d: np.zeros_like(d)), "positive at distance 0"),
        (lambda: CustomDecay(lambda d: np.ones_like(d)), "0 at infinite distance"),
        (lambda: CustomDecay(lambda d: np.where(np.isinf(d), 0.0, 0.1 + 0.1 * (d > 1))), "must not increase"),
        (lambda: CustomDecay(lambda _: 0.5), "one value per distance"),
        (lambda: Exponential(1.0)(-1.0), "not be negative"),
        (lambda: Exponential(1.0)([0.0, math.nan]), "not be NaN"),
        (lambda: Exponential(1.0).reach(-1.0), "tolerance must be"),
        (lambda: ddibp.DDIBP(decay=Exponential), "call it"),
        (lambda: ddibp.DDIBP(decay=0.5), "decay must be Constant, Exponential"),
    ],
)
def test_bad_decays_are_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_a_rise_at_the_distances_of_the_data_is_caught():
    bump = CustomDecay(lambda d: np.where((d > 1.23) & (d < 1.24), 1.0, np.exp(-d)))
    with pytest.raises(ValueError, match="must not increase"):
        ddibp.Proximity.from_covariates([0.0, 1.0, 1.235], bump)


def test_specs_are_values():
    assert Exponential(0.5) == Exponential(0.5)
    assert hash(Exponential(0.5)) == hash(Exponential(0.5))
    assert eval(repr(Logistic(1.0, 2.0))) == Logistic(1.0, 2.0)
    with pytest.raises(AttributeError):
        Exponential(0.5).beta = 1.0


def test_params_reach_into_nested_specs():
    prior = ddibp.DDIBP(Exponential(0.5), alpha=ddibp.Gamma(2.0, 1.0))
    assert prior.get_params()["decay__beta"] == 0.5
    assert "decay__beta" not in prior.get_params(deep=False)
    changed = prior.set_params(decay__beta=0.1, alpha=3.0, sequential=True)
    assert changed == ddibp.DDIBP(Exponential(0.1), alpha=3.0, sequential=True)
    assert prior.decay.beta == 0.5
    assert prior.set_params(decay=Logistic(), decay__nu=4.0).decay == Logistic(1.0, 4.0)
    with pytest.raises(ValueError, match="no parameter 'betta'"):
        Exponential().set_params(betta=1.0)
    with pytest.raises(ValueError, match="has no parameters"):
        prior.set_params(sequential__x=1)


def test_registry_knows_decays_and_takes_new_ones(monkeypatch):
    assert registry.make_decay("window", nu=2.0) == Window(2.0)
    with pytest.raises(ValueError, match="must be one of constant, exponential"):
        registry.make_decay("gaussian")
    with pytest.raises(ValueError, match="takes no parameters"):
        registry.make_decay("constant", beta=1.0)
    with pytest.raises(ValueError, match="it takes beta, nu"):
        registry.make_decay("logistic", gamma=1.0)
    with pytest.raises(ValueError, match="is taken by Window"):
        registry.register_decay("window", Constant)
    with pytest.raises(TypeError, match="derived from"):
        registry.register_decay("mine", dict)
    with pytest.raises(TypeError, match="does not answer sample"):
        registry.register_prior("mine", Window)
    monkeypatch.setattr(registry, "_DECAYS", dict(registry.decays()))
    registry.register_decay("mine", Exponential)
    assert registry.make_decay("mine", beta=2.0) == Exponential(2.0)
