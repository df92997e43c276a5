"""The posterior as its users see it: ArviZ, summaries, intervals, saving."""

from __future__ import annotations

import copy
import json
import pickle
import sys
import warnings

import numpy as np
import pytest
import xarray as xr

from ddibp import summaries
from ddibp.sampling import chains, load_posterior, run
from toy_sampler import ToySampler, same_draws, toy_data

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # ArviZ announces its next series when imported
    import arviz

PLAN = {"draws": 200, "tune": 50, "chains": 3, "seed": 1, "progress": False}


@pytest.fixture(scope="module")
def posterior():
    return run(ToySampler(), **PLAN)


def test_data_have_the_layout_of_arviz(posterior):
    tree = posterior.data
    assert isinstance(tree, xr.DataTree)
    assert list(tree.children) == ["posterior", "sample_stats", "observed_data"]
    assert tree["posterior"]["n_features"].dims == ("chain", "draw")
    assert {"alpha", "active", "log_joint", "reconstruction_norm", "mean_sharing"} < set(tree["posterior"].data_vars)
    np.testing.assert_array_equal(tree["observed_data"]["X"], posterior.observed)
    stats = tree["sample_stats"]
    assert stats["move"].values.tolist() == ["rows", "columns"]
    assert stats["tried"].sel(move="columns").values.tolist() == [250, 250, 250]
    assert (stats["acceptance"] == stats["accepted"] / stats["tried"]).all()
    assert (stats["sweeps_per_second"] > 0).all()
    assert json.loads(tree.attrs["settings"])["prior"] == {"name": "toy", "mean": 3.0}
    assert posterior.settings["prior"]["mean"] == 3.0
    assert posterior.data is tree


@pytest.mark.filterwarnings("ignore")  # of ArviZ and Matplotlib about themselves
def test_arviz_works_on_it(posterior):
    import matplotlib

    matplotlib.use("agg")
    theirs = posterior.to_arviz()
    names = ["n_features", "log_joint"]
    table = arviz.summary(theirs, var_names=names)
    assert list(table.index) == names
    arviz.plot_trace(theirs, var_names=names)
    ours = posterior.diagnostics().scalars["log_joint"]
    rhat = arviz.rhat(theirs, var_names=["log_joint"])
    np.testing.assert_allclose(float(rhat["log_joint"]), ours.rhat, rtol=1e-6)
    if int(arviz.__version__.partition(".")[0]) >= 1:
        assert list(arviz.summary(posterior.data, var_names=names).index) == names


def test_without_arviz(posterior, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match="pip install arviz"):
        posterior.to_arviz()


def test_data_survive_a_file(posterior, tmp_path):
    posterior.data.to_netcdf(tmp_path / "draws.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "draws.nc", engine="h5netcdf") as read:
        np.testing.assert_array_equal(read["posterior"]["log_joint"], posterior.data["posterior"]["log_joint"])
        assert read.attrs["settings"] == posterior.data.attrs["settings"]


def test_numbers_of_features(posterior):
    counts = np.array([Z.shape[1] for Z in posterior.draws()])
    np.testing.assert_array_equal(posterior.n_features.ravel(), counts)
    assert posterior.n_features.shape == (3, 200)
    law = posterior.n_features_law()
    assert sum(law.values()) == pytest.approx(1.0)
    assert law[int(counts[0])] == np.mean(counts == counts[0])
    np.testing.assert_array_equal(posterior.data["posterior"]["n_features"], posterior.n_features)


def test_sharing_and_features_come_from_the_draws(posterior):
    draws = list(posterior.draws())
    np.testing.assert_allclose(posterior.sharing(), np.mean([Z.astype(int) @ Z.T.astype(int) for Z in draws], axis=0))
    found = posterior.feature_probabilities()
    np.testing.assert_array_equal(found.reference, posterior.map().Z)
    expected = summaries.feature_probabilities(posterior.map().Z, draws)
    np.testing.assert_array_equal(found.probabilities, expected.probabilities)
    assert (found.presence <= 1.0).all()
    assert (found.probabilities <= found.presence).all()


def test_completed_data_keep_what_was_observed(posterior):
    X = posterior.completed()
    kept = ~posterior.missing
    assert X[kept].tobytes() == toy_data()[kept].tobytes()
    imputed = posterior.imputations(0.5)
    np.testing.assert_array_equal(X[imputed.rows, imputed.columns], imputed.mean)
    np.testing.assert_array_equal(X[posterior.missing], imputed.mean)
    assert (imputed.low < imputed.high).all()
    assert imputed.probability == 0.5
    low, high = posterior.imputation_interval(0.9)
    assert (low < imputed.low).all()
    assert (high > imputed.high).all()
    with pytest.raises(ValueError, match="probability must be a number"):
        posterior.imputations(1.5)


def test_nothing_missing():
    posterior = run(ToySampler(toy_data(missing=0.0)), **PLAN | {"draws": 5})
    assert posterior.imputations().mean.shape == (0,)
    assert posterior.imputation_interval()[0].shape == (0,)
    np.testing.assert_array_equal(posterior.completed(), posterior.observed)


def test_many_missing_entries_are_thinned(posterior, monkeypatch):
    monkeypatch.setattr(chains, "_MOST_IMPUTED", 7 * 3 * 50)
    thinned = run(ToySampler(), **PLAN)
    low, high = thinned.imputation_interval(0.9)
    every_fourth = [part["imputed"].reshape(-1, 7)[::4] for part in posterior._parts()]
    np.testing.assert_allclose([low, high], np.quantile(np.concatenate(every_fourth), [0.05, 0.95], axis=0))
    np.testing.assert_array_equal(thinned.imputations().mean, posterior.imputations().mean)


def test_chains_without_any_feature():
    class Empty(ToySampler):
        def features(self, state):
            return state.Z[:, :0]

        def weights(self, state):
            return state.W[:0]

    posterior = run(Empty(), **PLAN | {"draws": 8})
    assert posterior.n_features_law() == {0: 1.0}
    assert posterior.map().Z.shape == (10, 0)
    assert posterior.feature_probabilities().probabilities.shape == (10, 0)
    assert not posterior.sharing().any()
    assert not posterior.reconstruction().mean.any()
    assert all(Z.shape == (10, 0) for Z in posterior.draws())


def test_a_log_joint_that_is_not_a_number():
    class Broken(ToySampler):
        def scalars(self, state):
            return super().scalars(state) | {"log_joint": np.nan if state.sweeps < 55 else float(state.sweeps)}

    posterior = run(Broken(), **PLAN | {"draws": 8})
    assert (posterior.map().draw, posterior.map().log_joint) == (7, 58.0)
    assert "log_joint is not finite" in posterior.warnings[0]


def test_diagnostics_cover_all_numbers_and_moves(posterior):
    found = posterior.diagnostics()
    assert set(found.scalars) == set(posterior.data["posterior"].data_vars)
    assert found.moves["columns"].tried == 750
    assert sum(move.time_share for move in found.moves.values()) == pytest.approx(1.0)
    assert posterior.warnings == found.warnings


def test_moves_that_some_chains_have_not_tried():
    class Rare(ToySampler):
        def move_statistics(self, state):
            moves = super().move_statistics(state)
            return {"columns": moves["columns"]} if state.Z.shape[1] % 2 else moves

    posterior = run(Rare(), **PLAN | {"draws": 5, "chains": 6})
    assert posterior.data["sample_stats"]["tried"].shape == (6, 2)
    assert posterior.diagnostics().moves["columns"].tried == 330


def test_saved_and_loaded_is_the_same(posterior, tmp_path):
    posterior.save(tmp_path / "saved")
    same_draws(posterior, load_posterior(tmp_path / "saved"))
    with pytest.raises(FileExistsError, match="path must be a new or an empty folder"):
        posterior.save(tmp_path / "saved")
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        posterior.save(tmp_path / "file")


def test_copies_and_pickles(posterior):
    same_draws(posterior, pickle.loads(pickle.dumps(posterior)))
    same_draws(posterior, copy.deepcopy(posterior))


def test_repr_is_one_line(posterior):
    text = repr(posterior)
    assert text.startswith("<Posterior of 10 x 3 data, 7 missing: 3 chains of 200 draws, most often ")
    assert text.endswith("warnings>")
    assert len(text) < 150


def test_draws_of_one_chain_are_a_part_of_all(posterior):
    together = [Z for chain in range(posterior.n_chains) for Z in posterior.draws(chain)]
    for first, second in zip(posterior.draws(), together, strict=True):
        np.testing.assert_array_equal(first, second)
    assert sum(1 for _ in posterior.draws(2)) == PLAN["draws"]


def test_the_plan_says_what_was_asked_for(posterior):
    asked = {key: posterior.plan[key] for key in ("draws", "tune", "chains", "thin")}
    assert asked == {"draws": 200, "tune": 50, "chains": 3, "thin": 1}
    assert posterior.plan["seed"]["entropy"] == [1]
