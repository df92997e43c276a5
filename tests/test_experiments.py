"""Experiments: fits are kept and resumed, numbers depend on the seed alone, classifiers and splits do what they say."""

from __future__ import annotations

import csv
import os
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ddibp import IBP, experiments
from ddibp.experiments import alzheimers, beta_zero, chains, classify, models, traces
from ddibp.experiments.study import Study

needs_data = pytest.mark.skipif("DDIBP_DATA" not in os.environ, reason="DDIBP_DATA names no folder with the data sets")


def drawn(n, seed, log=None):
    """Stand in for a fit; write down that it was done."""
    if log is not None:
        with open(log, "a") as file:
            file.write(f"{n}\n")
    return {"value": np.random.default_rng(seed).normal(size=2), "count": np.int64(n)}


def tasks(study, log=None, n=3):
    return [{"n": i, "seed": study.stream("fit", i), **({} if log is None else {"log": str(log)})} for i in range(n)]


def values(study, log=None):
    return [fit["value"] for fit in study.map(drawn, tasks(study, log))]


# -- the harness -------------------------------------------------------------------------------------------------------


def test_fits_are_kept_and_only_missing_ones_are_done_again(tmp_path):
    log = tmp_path / "log"
    first = values(Study("x", tmp_path / "x"), log)
    assert log.read_text().split() == ["0", "1", "2"]
    again = Study("x", tmp_path / "x")
    assert values(again, log) == first
    assert log.read_text().split() == ["0", "1", "2"]
    for file in (tmp_path / "x" / "fits").glob("*.json"):
        if '"count": 1' in file.read_text():
            file.unlink()
    assert values(Study("x", tmp_path / "x"), log) == first
    assert log.read_text().split() == ["0", "1", "2", "1"]


def test_an_interrupted_run_keeps_what_it_has(tmp_path):
    study, done = Study("x", tmp_path / "x"), []

    def interrupted(n, seed):
        if n == 2:
            raise KeyboardInterrupt
        done.append(n)
        return {"value": float(np.random.default_rng(seed).normal())}

    with pytest.raises(KeyboardInterrupt):
        study.map(interrupted, tasks(study))
    assert done == [0, 1]
    assert len(list((tmp_path / "x" / "fits").glob("*.json"))) == 2


def test_the_seed_fixes_numbers_whatever_the_number_of_jobs(tmp_path):
    one = values(Study("x", tmp_path / "one"))
    assert values(Study("x", tmp_path / "two", n_jobs=2)) == one
    assert values(Study("x", tmp_path / "seed", seed=1)) != one
    assert values(Study("y", tmp_path / "name")) != one


def test_another_seed_or_task_does_not_take_what_is_kept(tmp_path):
    first = values(Study("x", tmp_path))
    assert values(Study("x", tmp_path, seed=1)) != first
    assert len(list((tmp_path / "fits").glob("*.json"))) == 6
    assert values(Study("x", tmp_path)) == first


def test_streams_differ_by_key():
    assert len({str(Study.stream(_Like(0), *key).entropy) for key in (("a",), ("b",), ("a", 1), ("a", "b"))}) == 4


class _Like:
    name = "x"

    def __init__(self, seed):
        self.seed = seed


def test_every_experiment_has_a_title_and_says_what_it_shows():
    assert list(experiments.titles()) == list(experiments.NAMES)
    for name in experiments.NAMES:
        assert len(experiments.module(name).__doc__) > 100
        assert callable(experiments.module(name).run)
    with pytest.raises(ValueError, match="there is no experiment 'nothing'; there are schematics, "):
        experiments.module("nothing")


def test_a_page_has_its_tables_and_how_it_was_made(tmp_path):
    page = experiments.reproduce("sharing-two-rows", tmp_path, quick=True, seed=3).read_text()
    assert page.startswith("# Feature sharing of two rows\n")
    assert "`ddibp reproduce sharing-two-rows --quick --seed 3`, ddibp " in page
    with open(tmp_path / "sharing-two-rows" / "two-rows-15.csv") as file:
        table = list(csv.DictReader(file))
    assert len(table) == page.count("\n| dd-IBP") // 2 + page.count("\n| dHBP") // 2
    for name in re.findall(r"\]\((.*)\.png\)", page):
        assert (tmp_path / "sharing-two-rows" / f"{name}.svg").stat().st_size > 1000


# -- the models --------------------------------------------------------------------------------------------------------


def test_models_by_name_share_beta_and_a_learned_mass():
    found = models.priors(0.5, np.arange(5.0))
    assert list(found) == list(models.MODELS)
    assert list(models.priors(0.5)) == [name for name in found if not name.endswith("learned")]
    for name, prior in found.items():
        assert getattr(prior, prior.mass_name) == models.MASS, name
        if hasattr(prior, "sequential"):
            assert prior.sequential, name
    for name in ("dd-IBP", "dHBP", "dHBP, dish", "AIBD"):
        assert found[name].decay.beta == 0.5
    assert found["dIBP"].length_scale == 2.0
    assert [found[name].coupling for name in ("dHBP", "dHBP, dish")] == ["customer", "dish"]
    assert models.covariates_for(IBP(), [1.0]) is None
    assert models.covariates_for(found["dIBP"], [1.0]) == [1.0]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("nothing", 1.0), "there is no model 'nothing'; there are dd-IBP, IBP"),
        (("dHBP",), "beta must be given for the model 'dHBP'"),
        (("dd-IBP, learned",), "covariates must be given for the model 'dd-IBP, learned'"),
    ],
)
def test_models_say_what_is_missing(arguments, message):
    with pytest.raises(ValueError, match=message):
        models.prior(*arguments)


def test_chains_are_plain_numbers_fixed_by_their_seed(tmp_path):
    seed, prior = np.random.SeedSequence(5), models.prior("dd-IBP", 0.3)
    task = {"data": "elnino", "prior": prior, "seed": seed, "iterations": 6, "thin": 2}
    study = Study("x", tmp_path)
    (first,) = study.map(chains.features, [{**task, "tune": 2}])
    assert chains.read(first["Z"]).shape == np.shape(first["probabilities"])
    assert np.shape(first["explained"]) == (61, 12)
    removed = {**task, "removed": 0.1, "removal": 4}
    second, third = (chains.trace(**removed) for _ in range(2))
    assert second["error"] == third["error"] > 0.0
    assert second["trace log_joint"].tolist() == third["trace log_joint"].tolist()
    assert len(second["trace log_joint"]) == 3


# -- classification ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_many_splits_at_once_are_scikit_learns_fits(C, rng):
    X = rng.normal(size=(24, 40))
    labels = X[:, 0] + rng.normal(size=24) > 0.0
    splits = rng.random((4, 24)) < 0.6
    found = classify.scores(X @ X.T, labels, splits, C)
    for split, scores in zip(splits, found, strict=True):
        model = LogisticRegression(C=C, solver="newton-cg", tol=1e-12, max_iter=10000).fit(X[split], labels[split])
        expected = model.decision_function(X)
        np.testing.assert_allclose(scores, expected, atol=2e-3 * np.abs(expected).max())


def test_classes_that_overlap_are_fitted_without_penalty(rng):
    x = rng.normal(size=40)
    labels = x + 2.0 * rng.normal(size=40) > 0.0
    found = classify.scores(np.outer(x, x), labels, np.ones((1, 40), dtype=bool), 1e6)
    model = LogisticRegression(C=1e6, tol=1e-10).fit(x[:, None], labels)
    np.testing.assert_allclose(found[0], model.decision_function(x[:, None]), rtol=1e-3, atol=1e-4)


def test_inputs_that_say_nothing_have_an_auc_of_one_half(rng):
    labels = np.repeat([False, True], 40)
    splits = classify.random_halves(labels, 200, rng)
    constant = classify.aucs(np.zeros((80, 80)), labels, splits, 1.0)
    assert (constant == 0.5).all()
    told = classify.aucs(np.outer(labels, labels).astype(float), labels, splits, 1.0)
    assert (told == 1.0).all()


def test_splits_halve_classes_and_keep_people_together(rng):
    labels, people = np.repeat([True, False], [27, 35]), np.repeat(np.arange(31), 2)
    people[27] = 99
    halves = classify.random_halves(labels, 50, rng)
    assert set(halves[:, labels].sum(axis=1)) == {13, 14}
    assert set(halves[:, ~labels].sum(axis=1)) == {17, 18}
    apart = classify.halves_of_people(labels, people, 50, rng)
    for person in np.unique(people):
        assert (apart[:, people == person].all(axis=1) == apart[:, people == person].any(axis=1)).all()
    for rows in (labels, ~labels):
        assert (np.abs(apart[:, rows].sum(axis=1) - rows.sum() / 2) <= 2).all()
    assert len(np.unique(apart, axis=0)) > 40


def test_errors_count_restarts_and_splits(rng):
    restarts, splits = rng.normal(0.0, 0.3, size=(200, 5, 1)), rng.normal(0.0, 0.2, size=(200, 1, 20))
    tables = restarts + splits + rng.normal(0.0, 0.1, size=(200, 5, 20))
    means, errors = np.array([classify.mean_with_error(table) for table in tables]).T
    assert 0.85 < np.sqrt(np.mean(errors**2)) / means.std() < 1.2
    gap, error = classify.difference_with_error(tables[0], tables[0] + 1.0)
    assert gap == pytest.approx(-1.0)
    assert error > 0.0


def test_a_level_trace_is_level_from_the_start(rng):
    assert traces.plateau(rng.normal(size=400)) == 1
    assert traces.plateau(np.r_[np.full(100, -100.0), np.zeros(300)] + rng.normal(size=400)) > 140


def test_errors_of_chains_that_disagree_come_from_their_means(rng):
    agree = rng.normal(size=(4, 300))
    assert 0.02 < beta_zero.error(agree) < 0.05
    assert beta_zero.error(agree + np.array([[0.0], [10.0], [20.0], [30.0]])) > 5.0


# -- the experiments ---------------------------------------------------------------------------------------------------


def test_without_data_one_sentence_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.delenv("DDIBP_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"alzheimers_roi\.csv is needed, .* set DDIBP_DATA to a folder"):
        experiments.reproduce("alzheimers", tmp_path, quick=True)


@needs_data
def test_the_alzheimers_table_is_the_papers():
    table = chains.table("alzheimers")
    assert table.X.shape == (62, 224)
    assert table.labels.sum() == 27
    assert (np.diff(table.covariates) >= 0.0).all()
    assert (table.covariates.min(), table.covariates.max()) == (60.0, 90.0)
    assert len(np.unique(table.people)) == 20
    np.testing.assert_allclose(table.X.std(axis=0), 1.0)


@needs_data
def test_full_studies_ask_for_every_model(tmp_path):
    asked = alzheimers.tasks(Study("alzheimers", tmp_path))
    assert {task["model"] for task in asked} == set(models.MODELS)
    assert {task["beta"] for task in asked if task["model"] == "dd-IBP"} == set(alzheimers.BETAS)
    assert [task["restart"] for task in asked] == sorted(task["restart"] for task in asked)
    assert len({str(task["seed"].entropy) for task in asked}) == len(asked)


@needs_data
@pytest.mark.parametrize(
    "name, says",
    [
        ("alzheimers", "Keeping people apart takes"),
        pytest.param("traces", "the plateau begins between iterations", marks=pytest.mark.slow),
        pytest.param("beta-zero", "comparisons are within two standard errors", marks=pytest.mark.slow),
        ("costs", "iterations were timed after"),
    ],
)
def test_quick_versions_run(name, says, tmp_path):
    page = experiments.reproduce(name, tmp_path, quick=True).read_text()
    assert says in page
    assert "nan" not in page.lower().replace("rank correlation nan", "")
    if name == "costs":  # from what is kept: even times are the same
        again = experiments.reproduce(name, tmp_path, quick=True).read_text()
        assert again.rpartition("---")[0] == page.rpartition("---")[0]
