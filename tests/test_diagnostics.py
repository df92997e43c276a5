"""R-hat and effective sample sizes against ArviZ, and the words that go with them."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from ddibp.sampling.diagnostics import diagnose, ess_bulk, ess_tail, rhat

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # ArviZ announces its next series when imported
    import arviz


def autoregression(rng, shape, rho):
    x = rng.normal(size=shape)
    for t in range(1, shape[1]):
        x[:, t] += rho * x[:, t - 1]
    return x


CASES = {
    "independent": lambda rng, shape: rng.normal(size=shape),
    "sticky": lambda rng, shape: autoregression(rng, shape, 0.95),
    "alternating": lambda rng, shape: autoregression(rng, shape, -0.8),
    "heavy tails": lambda rng, shape: rng.standard_cauchy(shape),
    "counts": lambda rng, shape: rng.poisson(2.0, shape).astype(float),
    "rarely changing": lambda rng, shape: np.cumsum(rng.random(shape) < 0.05, axis=1).astype(float),
    "apart": lambda rng, shape: rng.normal(size=shape) + np.arange(shape[0])[:, None],
    "trend": lambda rng, shape: rng.normal(size=shape) + np.linspace(0, 3, shape[1]),
    "different spreads": lambda rng, shape: rng.normal(size=shape) * (1 + np.arange(shape[0])[:, None]),
    "large and close": lambda rng, shape: 1e8 + rng.normal(size=shape),
}


def ours_and_theirs(x):
    ours = [rhat(x), ess_bulk(x), ess_tail(x)]
    with np.errstate(all="ignore"):
        theirs = [arviz.rhat(x, method="rank"), arviz.ess(x, method="bulk")]
        theirs.append(arviz.ess(x, method="tail", prob=(0.05, 0.95)))
    if ours[0] == math.inf and theirs[0] > 1e6:
        theirs[0] = math.inf  # chains that never move: theirs divides by a rounding error
    return ours, [float(value) for value in theirs]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("shape", [(4, 1000), (3, 401), (2, 50), (2, 11), (2, 7), (3, 4), (2, 5), (8, 6)])
def test_the_figures_are_those_of_arviz(case, shape, rng):
    for _ in range(3):
        ours, theirs = ours_and_theirs(CASES[case](rng, shape))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_a_single_chain_is_split_too(rng):
    x = autoregression(rng, (1, 300), 0.5)
    assert rhat(x) < 1.05
    np.testing.assert_allclose([ess_bulk(x), ess_tail(x)], ours_and_theirs(x)[1][1:], rtol=1e-6)
    assert rhat(np.linspace(0.0, 1.0, 300)[None]) > 1.5


def test_what_cannot_be_judged():
    for x in (np.ones((4, 100)), np.zeros((4, 3)), np.full((2, 50), np.nan)):
        assert math.isnan(rhat(x))
    assert ess_bulk(np.ones((4, 100))) == 400
    assert math.isnan(ess_tail(np.zeros((4, 3))))
    assert rhat(np.repeat([[0.0], [1.0]], 100, axis=1)) == math.inf
    with pytest.raises(ValueError, match=r"shape \(n_chains, n_draws\), got \(3,\)"):
        rhat(np.zeros(3))


def test_nothing_to_say_about_good_chains(rng):
    found = diagnose({"alpha": rng.normal(size=(4, 1000)), "beta": np.ones((4, 1000))})
    assert found.warnings == ()
    assert "never changes" in repr(found)


def test_words_name_the_number_and_the_remedy(rng):
    good = rng.normal(size=(4, 200))
    found = diagnose({"alpha": good + 2 * np.arange(4)[:, None], "beta": good, "log_joint": good - np.inf})
    broken, apart, few = found.warnings
    assert broken == "log_joint is not finite in some draws: look at the data and the priors."
    assert "R-hat is 2" in apart
    assert "for alpha" in apart
    assert "beta" not in apart
    assert "should be at most 1.01. Ask for more tune and draws" in apart
    assert "for alpha" in few
    assert "should be at least 400. Ask for about draws=" in few
    assert int(few.rpartition("=")[2].rstrip(".")) > 2000


def test_the_worst_are_named_first(rng):
    x = rng.normal(size=(4, 200))
    apart, few = diagnose({f"x{i}": x + i * np.arange(4)[:, None] for i in range(7)}).warnings
    assert [name in apart for name in ("x6", "x3", "x2", "x0")] == [True, True, False, False]
    assert apart.index("x6") < apart.index("x3")
    assert "(and bad for 2 more)" in apart
    assert "(and bad for 2 more)" in few


def test_too_few_draws_are_said_to_be_so():
    found = diagnose({"alpha": np.zeros((2, 3)) + np.arange(3)})
    assert found.warnings == ("There are 3 draws per chain, too few to judge them: ask for at least draws=4.",)
    assert len(diagnose({"alpha": np.zeros((1, 1))}).warnings) == 1


def test_tables_of_moves(rng):
    found = diagnose({"alpha": rng.normal(size=(2, 500))}, {"flip": (100, 25, 3.0), "split": (0, 0, 1.0)})
    assert found.moves["flip"].time_share == 0.75
    lines = repr(found).splitlines()
    assert lines[0] == "2 chains of 500 draws"
    assert lines[-2].split() == ["flip", "100", "25.0%", "75.0%"]
    assert lines[-1].split() == ["split", "0", "-", "25.0%"]
    table = found.to_dict()
    assert table["moves"]["flip"] == {"tried": 100, "accepted": 25, "time_share": 0.75}
    assert set(table["scalars"]["alpha"]) == {"mean", "sd", "rhat", "ess_bulk", "ess_tail"}
    assert table["warnings"] == []
    assert "nan" in repr(diagnose({"alpha": rng.normal(size=(2, 500))}, {"flip": (1, 1, 0.0)}))
