"""Checkpoints: kills at any moment, resuming, extending, and an answer to all that can be wrong with a folder."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from ddibp.sampling import chains, load_posterior, run
from ddibp.sampling.store import Folder, Memory, Store
from toy_sampler import ToySampler, same_draws, toy_data

PLAN = {"draws": 60, "tune": 10, "chains": 2, "seed": 5, "progress": False}

SCRIPT = """
import sys
from ddibp.sampling import chains, run
from toy_sampler import ToySampler
chains._BLOCK_SECONDS = 0.01
run(ToySampler(pause=0.004), draws=300, tune=30, chains=2, seed=5, progress=False, n_jobs=2, flush_seconds=0.0,
    checkpoint=sys.argv[1])
"""


@pytest.fixture
def finished(tmp_path, monkeypatch):
    monkeypatch.setattr(chains, "_BLOCK_SECONDS", 0.003)
    run(ToySampler(), **PLAN, checkpoint=tmp_path / "run", flush_seconds=0.0)
    return tmp_path / "run"


def again(folder, **changes):
    return run(ToySampler(), **PLAN | changes, checkpoint=folder)


def kill_at_random(folder, rng):
    """Start or resume the run in another process and kill it; return whether it was killed in the middle."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    state = folder / "chain-0" / "state.npz"
    before = state.stat().st_mtime_ns if state.exists() else 0
    with subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)], env=environment) as process:
        while process.poll() is None and not (state.exists() and state.stat().st_mtime_ns > before):
            time.sleep(0.002)
        time.sleep(rng.uniform(0.0, 0.6))
        process.send_signal(signal.SIGKILL)
    return process.returncode == -signal.SIGKILL


def prove_kills_are_survived(folder, kills, rng):
    uninterrupted = run(ToySampler(), **PLAN | {"draws": 300, "tune": 30})
    seen = 0
    for _ in range(kills):
        if not kill_at_random(folder, rng):
            shutil.rmtree(folder)
            continue
        with contextlib.suppress(ValueError):  # no draws yet
            seen = load_posterior(folder).n_draws
    assert seen < 300
    same_draws(uninterrupted, again(folder, draws=300, tune=30))


def test_two_kills_and_a_resume_are_one_run(tmp_path, rng):
    prove_kills_are_survived(tmp_path / "run", 2, rng)


@pytest.mark.slow
def test_twenty_kills_and_a_resume_are_one_run(tmp_path, rng):
    for repeat in range(5):
        prove_kills_are_survived(tmp_path / str(repeat), 4, rng)


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("fatal", range(1, 26))
def test_dying_between_any_two_steps_of_writing(fatal, tmp_path, monkeypatch):
    """Every write is a draft, a flush and a renaming; the process dies before the renaming number so-and-so."""
    monkeypatch.setattr(chains, "_BLOCK_SECONDS", 0.004)
    replace, count = os.replace, iter(range(1, 10_000))

    def dying(source, target):
        if next(count) == fatal:
            raise Killed
        replace(source, target)

    monkeypatch.setattr(os, "replace", dying)
    with pytest.raises(Killed):
        run(ToySampler(pause=0.001), **PLAN, checkpoint=tmp_path / "run", flush_seconds=0.0)
    monkeypatch.setattr(os, "replace", replace)
    same_draws(run(ToySampler(), **PLAN), again(tmp_path / "run"))


def test_a_finished_run_is_not_touched(finished):
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    same_draws(again(finished), load_posterior(finished))
    assert before == {path: path.stat().st_mtime_ns for path in finished.rglob("*")}


def test_more_draws_extend_a_run(finished):
    longer = again(finished, draws=150)
    same_draws(longer, run(ToySampler(), **PLAN | {"draws": 150}))
    assert longer.n_draws == 150
    assert json.loads((finished / "manifest.json").read_text())["draws"] == 150
    assert again(finished).n_draws == 150
    assert longer.warnings == load_posterior(finished).warnings


def test_extending_does_not_change_which_imputed_draws_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(chains, "_MOST_IMPUTED", 2 * 7 * 25)
    at_once = run(ToySampler(), **PLAN | {"draws": 333})
    for draws in (10, 30, 200, 333):
        extended = again(tmp_path / "run", draws=draws)
    same_draws(at_once, extended)
    kept = np.concatenate([part["imputed_draws"] for part in extended._store.parts(0, extended._states[0])])
    stride = int(extended._states[0]["stride"])
    assert stride == 16
    final = kept[kept % stride == 0]
    np.testing.assert_array_equal(final, np.arange(0, 333, 16))
    assert len(final) <= 25


def test_a_lost_seed_is_found_in_the_checkpoint(tmp_path):
    first = again(tmp_path / "run", seed=None)
    same_draws(first, again(tmp_path / "run", seed=None))
    longer = again(tmp_path / "run", seed=None, draws=70)
    assert longer.n_draws == 70


def test_a_saved_posterior_is_a_checkpoint_too(finished, tmp_path):
    posterior = load_posterior(finished)
    (tmp_path / "saved").mkdir()
    posterior.save(tmp_path / "saved")
    shutil.rmtree(finished)
    same_draws(load_posterior(tmp_path / "saved"), again(None))
    assert len(list((tmp_path / "saved").rglob("part-*.npz"))) == 2
    same_draws(again(tmp_path / "saved", draws=80), again(None, draws=80))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["saved"]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"tune": 11}, r"tune was 10 and is now 11\. Ask for the same to resume it"),
        ({"chains": 3}, "chains was 2 and is now 3"),
        ({"seed": 6}, r"seed\.entropy was \[5\] and is now \[6\]"),
        ({"thin": 2}, "thin was 1 and is now 2"),
    ],
)
def test_another_plan_is_refused(finished, changes, message):
    with pytest.raises(ValueError, match=message) as caught:
        again(finished, **changes)
    assert str(finished / "manifest.json") in str(caught.value)


def test_another_model_and_other_data_are_refused(finished):
    with pytest.raises(ValueError, match=r'prior\.name was "toy" and is now "other"'):
        run(ToySampler(name="other"), **PLAN, checkpoint=finished)
    sampler = ToySampler()
    sampler.settings |= {"schedule": ["a" * 200], "x": 1, "y": 2, "z": 3}
    with pytest.raises(ValueError, match=r"schedule was absent and is now .*; and 1 more"):
        run(sampler, **PLAN, checkpoint=finished)
    other = ToySampler(toy_data(seed=2))
    other.settings = ToySampler().settings
    with pytest.raises(ValueError, match=r"data\.digest was"):
        run(other, **PLAN, checkpoint=finished)


def test_foreign_folders_and_files(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"holds 'notes.txt' but no manifest.json.*new or empty"):
        again(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(ValueError, match=r"manifest.json cannot be read \(.*Not a directory"):
        again(tmp_path / "notes.txt")
    with pytest.raises(FileNotFoundError, match=r"path must be the folder of a run"):
        load_posterior(tmp_path / "nowhere")
    (tmp_path / "manifest.json").write_text('{"name": "some app"}')
    with pytest.raises(ValueError, match=r"manifest.json does not describe a run of ddibp"):
        again(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ValueError, match=r"manifest.json cannot be read"):
        load_posterior(tmp_path)


def test_a_manifest_of_another_version_or_changed_by_hand(finished):
    path = finished / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"schema": 2, "version": "9.9"}))
    with pytest.raises(ValueError, match=r"written by ddibp 9\.9 in schema 2"):
        load_posterior(finished)
    path.write_text(json.dumps(manifest | {"tune": 11}))
    with pytest.raises(ValueError, match="changed by hand"):
        again(finished)


def damage(path, rng):
    content = bytearray(path.read_bytes())
    content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["part-00001.npz", "state.npz"])
def test_damage_is_found_and_the_chain_can_be_run_anew(finished, name, rng):
    reference = again(None)
    path = finished / "chain-1" / name
    whole = path.read_bytes()
    complaints = []
    for _ in range(40):
        damage(path, rng)
        try:
            same_draws(reference, load_posterior(finished))
        except ValueError as error:
            complaints.append(str(error))
        path.write_bytes(whole)
    assert len(complaints) > 20
    assert all(str(path) in complaint and "delete the folder" in complaint for complaint in complaints)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="damaged or cannot be read"):
        again(finished)
    shutil.rmtree(finished / "chain-1")
    assert load_posterior(finished).n_chains == 1
    same_draws(reference, again(finished))


def test_missing_and_exchanged_files(finished, tmp_path):
    part, other = finished / "chain-0" / "part-00001.npz", finished / "chain-1" / "part-00001.npz"
    whole = part.read_bytes()
    part.unlink()
    with pytest.raises(ValueError, match=r"part-00001.npz is missing"):
        load_posterior(finished)
    shutil.copy(other, part)
    with pytest.raises(ValueError, match=r"part-00001.npz belongs to another run or another place"):
        again(finished)
    run(ToySampler(), **PLAN | {"seed": 6}, checkpoint=tmp_path / "other")
    part.write_bytes(whole)
    shutil.copy(tmp_path / "other" / "chain-0" / "state.npz", finished / "chain-0")
    with pytest.raises(ValueError, match=r"state.npz belongs to another run"):
        load_posterior(finished)


def test_a_state_and_parts_of_different_age(finished):
    folder = Folder(finished)
    store = Store(folder, folder.manifest())
    part = store.read("chain-0/part-00000")
    store.write("chain-0/part-00000", part | {"n_features": part["n_features"][:-1]})
    with pytest.raises(ValueError, match=r"state.npz speaks of 60 draws, the parts hold 59"):
        load_posterior(finished)


def test_damaged_data_are_written_anew(finished):
    (finished / "data.npz").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"data.npz is damaged .* delete .*data.npz and run again"):
        again(finished)
    (finished / "data.npz").unlink()
    with pytest.raises(ValueError, match=r"data.npz is missing"):
        load_posterior(finished)
    again(finished)
    np.testing.assert_array_equal(load_posterior(finished).observed, toy_data())


def test_two_runs_do_not_write_into_one_folder(finished):
    with Folder(finished).held(), pytest.raises(ValueError, match="is being written by another run"):
        again(finished, draws=100)
    again(finished, draws=100)


def test_a_running_chain_can_be_looked_at(finished):
    with Folder(finished).held():
        assert load_posterior(finished).n_draws == 60


def test_a_memory_file_does_not_follow_the_array():
    files = Memory()
    array = np.zeros(2)
    files.write("a", {"x": array})
    array[:] = 1.0
    np.testing.assert_array_equal(files.read("a")["x"], [0.0, 0.0])


def test_objects_are_refused():
    with pytest.raises(TypeError, match="x must be an array of numbers or text"):
        Store(Memory(), {"digest": ""}).write("a", {"x": np.array([{}])})
