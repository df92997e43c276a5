"""Running chains: what the numbers do not depend on, Ctrl-C, failures, other workers."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest

from ddibp.sampling import chains, load_posterior, progress, run
from ddibp.sampling.store import Store
from toy_sampler import ToySampler, same_draws, toy_data

PLAN = {"draws": 40, "tune": 10, "chains": 3, "seed": 5, "progress": False}


@pytest.fixture
def short_blocks(monkeypatch):
    monkeypatch.setattr(chains, "_BLOCK_SECONDS", 0.003)


@pytest.fixture
def ctrl_c():
    """Let Ctrl-C mean what it means in a terminal, whatever runs the tests has made of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def reference():
    return run(ToySampler(), **PLAN)


def by_hand(sampler, *, draws, tune, chains, seed, thin=1):
    """Return the states after every draw, as the definition says."""
    result = []
    for stream in np.random.SeedSequence(seed).spawn(chains):
        state = sampler.start(np.random.default_rng(stream))
        drawn = []
        for sweep in range(1, tune + draws * thin + 1):
            sampler.sweep(state)
            if sweep > tune and (sweep - tune) % thin == 0:
                Z, W = sampler.features(state).copy(), sampler.weights(state).copy()
                drawn.append((Z, W, sampler.imputed(state).copy(), sampler.scalars(state)))
        result.append(drawn)
    return result


@pytest.mark.parametrize("thin", [1, 3])
def test_everything_is_what_the_definition_says(thin):
    plan = {"draws": 30, "tune": 7, "chains": 2, "seed": 9, "thin": thin}
    posterior = run(ToySampler(), **plan, progress=False)
    chains_by_hand = by_hand(ToySampler(), **plan)
    flat = [draw for chain in chains_by_hand for draw in chain]
    for Z, draw in zip(posterior.draws(), flat, strict=True):
        np.testing.assert_array_equal(Z, draw[0])
    for name in ("alpha", "active", "log_likelihood", "log_joint", "n_features"):
        expected = [[draw[3][name] for draw in chain] for chain in chains_by_hand]
        np.testing.assert_array_equal(posterior.data["posterior"][name], expected)
    fitted = np.array([draw[0] @ draw[1] for draw in flat])
    imputed = np.array([draw[2] for draw in flat])
    np.testing.assert_allclose(posterior.reconstruction().mean, fitted.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(posterior.reconstruction().sd, fitted.std(axis=0, ddof=1), atol=1e-12)
    norms = np.sqrt((fitted**2).sum(axis=(1, 2)))
    np.testing.assert_allclose(posterior.data["posterior"]["reconstruction_norm"].values.ravel(), norms)
    shared = [(draw[0].astype(int) @ draw[0].T.astype(int)).mean() for draw in flat]
    np.testing.assert_allclose(posterior.data["posterior"]["mean_sharing"].values.ravel(), shared)
    np.testing.assert_allclose(posterior.imputations().mean, imputed.mean(axis=0))
    np.testing.assert_allclose(posterior.imputations().sd, imputed.std(axis=0, ddof=1))
    np.testing.assert_allclose(posterior.imputation_interval(0.8), np.quantile(imputed, [0.1, 0.9], axis=0))
    best = max(range(len(flat)), key=lambda i: flat[i][3]["log_joint"])
    found = posterior.map()
    assert (found.chain, found.draw) == divmod(best, 30)
    np.testing.assert_array_equal(found.Z, flat[best][0])
    np.testing.assert_array_equal(found.W, flat[best][1])
    assert found.log_joint == flat[best][3]["log_joint"]


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
@pytest.mark.parametrize("flush_seconds", [0.0, 100.0])
@pytest.mark.usefixtures("short_blocks")
def test_numbers_depend_neither_on_workers_nor_on_blocks(reference, n_jobs, flush_seconds, tmp_path):
    same_draws(reference, run(ToySampler(), **PLAN, n_jobs=n_jobs, flush_seconds=flush_seconds))
    on_disk = run(ToySampler(), **PLAN, n_jobs=n_jobs, flush_seconds=flush_seconds, checkpoint=tmp_path / "run")
    same_draws(reference, on_disk)
    same_draws(reference, load_posterior(tmp_path / "run"))
    parts = len(list((tmp_path / "run" / "chain-0").glob("part-*.npz")))
    assert parts == 1 if flush_seconds else parts > 1


def test_seeds(reference):
    same_draws(reference, run(ToySampler(), **PLAN | {"seed": np.random.SeedSequence(5)}))
    sequence = np.random.SeedSequence(5)
    sequence.spawn(2)
    same_draws(reference, run(ToySampler(), **PLAN | {"seed": sequence}))
    assert sequence.n_children_spawned == 2
    first, again = (run(ToySampler(), **PLAN | {"seed": np.random.default_rng(3)}) for _ in range(2))
    same_draws(first, again)
    others = [run(ToySampler(), **PLAN | {"seed": seed}) for seed in (6, None, None)]
    firsts = {p.data["posterior"]["log_joint"].values[0, -1] for p in [reference, first, *others]}
    assert len(firsts) == 5


def test_chains_differ(reference):
    assert len(set(reference.data["posterior"]["log_joint"].values[:, -1])) == 3


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.usefixtures("short_blocks")
def test_other_processes_give_the_same(large, tmp_path):
    """Large data are beyond the size from which joblib would hand over read-only maps of files."""
    X, plan = (toy_data(400, 500, missing=0.001), PLAN | {"draws": 3, "tune": 1}) if large else (toy_data(), PLAN)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        there = run(ToySampler(X, trace=tmp_path), **plan)
    assert not (tmp_path / str(os.getpid())).exists()
    same_draws(there, run(ToySampler(X), **plan))


def test_two_dask_workers_give_the_same(reference, tmp_path):
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        same_draws(reference, run(ToySampler(trace=tmp_path), **PLAN))
    assert len(list(tmp_path.iterdir())) == 2
    assert not (tmp_path / str(os.getpid())).exists()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_returns_what_there_is_and_the_rest_can_follow(reference, n_jobs, tmp_path, capsys):
    stopping = ToySampler(interrupt_at=25)
    with pytest.warns(
        RuntimeWarning, match=r"Interrupted: the chains have \d+ to \d+ of 40 draws\. The same call goes"
    ):
        posterior = run(stopping, **PLAN, n_jobs=n_jobs, checkpoint=tmp_path / "run")
    assert "Ctrl-C again" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert 0 < posterior.n_draws < 40
    assert "unfinished" in posterior.warnings[0]
    same_draws(posterior, load_posterior(tmp_path / "run"))
    some = len(list(posterior.draws()))
    assert some == sum(int(state["draws"]) for state in posterior._states.values())
    same_draws(reference, run(ToySampler(), **PLAN, checkpoint=tmp_path / "run"))


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_without_a_checkpoint():
    with pytest.warns(RuntimeWarning, match="The rest is lost"):
        posterior = run(ToySampler(interrupt_at=25), **PLAN)
    assert posterior.n_draws > 0
    assert posterior.map().Z.shape[0] == 10


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_before_the_first_draw(reference, tmp_path):
    with pytest.raises(KeyboardInterrupt, match="before the first draw"):
        run(ToySampler(interrupt_at=5), **PLAN, checkpoint=tmp_path / "run")
    with pytest.raises(ValueError, match="holds no draws yet"):
        load_posterior(tmp_path / "run")
    same_draws(reference, run(ToySampler(), **PLAN, checkpoint=tmp_path / "run"))


@pytest.mark.usefixtures("ctrl_c")
def test_second_ctrl_c_gives_up_at_once():
    class Stubborn(ToySampler):
        @staticmethod
        def interrupt():
            ToySampler.interrupt()
            ToySampler.interrupt()

    with pytest.raises(KeyboardInterrupt):
        run(Stubborn(interrupt_at=25), **PLAN)


def test_ctrl_c_is_left_alone_where_somebody_else_listens():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(True))
    try:
        posterior = run(ToySampler(interrupt_at=25), **PLAN)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard
    assert posterior.n_draws == 40


SCRIPT = """
import signal, sys, joblib
from ddibp.sampling import run
from toy_sampler import ToySampler
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal; jobs in the background ignore it
    plan = {"draws": 2000, "tune": 0, "chains": 2, "progress": False, "checkpoint": sys.argv[1], "flush_seconds": 0.0}
    with joblib.parallel_config(backend="loky", n_jobs=2):
        print(run(ToySampler(pause=0.01), **plan).n_draws)
"""


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_reaches_the_workers_too(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "default"}
    with subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    ) as process:
        states = [tmp_path / "run" / f"chain-{chain}" / "state.npz" for chain in range(2)]
        while process.poll() is None and not all(state.exists() for state in states):
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "Interrupted: the chains have" in err
    assert 0 < int(out) < 2000
    assert load_posterior(tmp_path / "run").n_draws == int(out)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("short_blocks")
def test_a_failing_sweep_says_where_and_keeps_the_rest(reference, n_jobs, tmp_path):
    with pytest.raises(FloatingPointError, match="positive definite") as caught:
        run(ToySampler(fail_at=30), **PLAN, n_jobs=n_jobs, checkpoint=tmp_path / "run", flush_seconds=0.0)
    assert "in sweep 30 of chain" in caught.value.__notes__[0]
    same_draws(reference, run(ToySampler(), **PLAN, checkpoint=tmp_path / "run"))


@pytest.mark.usefixtures("short_blocks")
def test_a_full_disk_loses_nothing_that_was_written(reference, tmp_path, monkeypatch):
    written = []
    append = Store.append

    def full(self, *args):
        written.append(args)
        if len(written) > 4:
            raise OSError(28, "No space left on device")
        append(self, *args)

    monkeypatch.setattr(Store, "append", full)
    with pytest.raises(OSError, match="No space left"):
        run(ToySampler(pause=0.001), **PLAN, n_jobs=2, checkpoint=tmp_path / "run", flush_seconds=0.0)
    monkeypatch.setattr(Store, "append", append)
    same_draws(reference, run(ToySampler(), **PLAN, checkpoint=tmp_path / "run"))


def test_running_outside_the_main_thread(reference):
    results = []
    thread = threading.Thread(target=lambda: results.append(run(ToySampler(), **PLAN)))
    thread.start()
    thread.join()
    same_draws(reference, results[0])


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"draws": 0}, "draws must be at least 1"),
        ({"tune": -1}, "tune must be at least 0"),
        ({"chains": 1.5}, "chains must be a whole number"),
        ({"thin": 0}, "thin must be at least 1"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0"),
        ({"n_jobs": "all"}, "n_jobs must be None"),
        ({"seed": -1}, "seed must be a non-negative int"),
        ({"seed": "x"}, "seed must be None"),
        ({"flush_seconds": -1.0}, "flush_seconds must be a number in"),
    ],
)
def test_wrong_arguments(wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        run(ToySampler(), **PLAN | wrong)


def test_bars_show_every_chain_in_a_terminal():
    from rich.console import Console

    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=150)
    with progress.reporting(True, [0, 90], tune=20, goal=120, thin=2, console=console) as report:
        report(0, 10, {"n_features": 4.0, "log_joint": -123.456})
        report(1, 100, {"n_features": 6.0, "log_joint": -100.0})
    shown = screen.getvalue()
    assert "chain 0 (tuning)" in shown
    assert "chain 1" in shown
    assert "100/120" in shown
    assert "K 4  log joint -123.456" in shown


def test_no_bars_where_nobody_looks(capsys):
    run(ToySampler(), **PLAN | {"progress": True, "draws": 2})
    assert capsys.readouterr() == ("", "")


def test_importing_is_light():
    code = "import sys, ddibp.sampling; print({'xarray', 'arviz', 'joblib', 'rich', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
