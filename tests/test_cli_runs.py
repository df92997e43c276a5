"""Runs from the shell: a fit is what the library computes, and what later commands write comes from it."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ddibp
from ddibp import (
    AIBD,
    DDIBP,
    DHBP,
    DIBP,
    IBP,
    Exponential,
    Gamma,
    LinearGaussian,
    Logistic,
    Window,
    load_posterior,
    sample_posterior,
)
from ddibp.cli import cells, main, model
from ddibp.cli.scaling import choose_scaling
from ddibp.cli.tables import Table, read_table, write_table

SIZE = "--draws 30 --tune 5 --chains 2 --seed 3 --quiet"
FIT = f"fit data.csv --covariate day --id site --exclude note --log zinc --sequential {SIZE} -o run"
COLUMNS = ("depth", "zinc", "lead")


def make_table() -> tuple[str, np.ndarray]:
    """Return a table as text, with odd but legitimate formatting, and its numbers."""
    rng = np.random.default_rng(8)
    on = np.arange(24) >= 12
    X = np.outer(on, [3.0, 1.0, -2.0]) + [10.0, 2.0, 5.0] + 0.3 * rng.normal(size=(24, 3))
    X[:, 1] = np.exp(X[:, 1])
    text = [[f"{x:.1f}", f"{z:.3f}", f" +{y:.2f} "] for x, z, y in X]
    for i, j, cell in [(2, 0, ""), (7, 1, "NA"), (15, 2, "nan"), (15, 0, "None")]:
        text[i][j] = cell
    missing = [[cell in ("", "NA", "nan", "None") for cell in row] for row in text]
    numbers = np.where(
        missing,
        np.nan,
        [[float(c) if not m else 0.0 for c, m in zip(*r, strict=True)] for r in zip(text, missing, strict=True)],
    )
    lines = [["site", "day", "depth", "note", "zinc", "lead"]]
    for i, (depth, zinc, lead) in enumerate(text):
        lines.append([f"s{i}", f"2024-01-{i + 1:02}", depth, "a, b" if i == 3 else "", zinc, lead])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue(), numbers


TEXT, NUMBERS = make_table()


def run(line, stdin=None):
    return CliRunner().invoke(main, shlex.split(line), input=stdin, prog_name="ddibp")


def succeed(line, stdin=None):
    result = run(line, stdin)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def table(text, delimiter=","):
    header, *rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    return {name: [row[j] for row in rows] for j, name in enumerate(header)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        Path("data.csv").write_text(TEXT)
        succeed(FIT)
    return path


@pytest.fixture(autouse=True)
def _there(folder, monkeypatch):
    monkeypatch.chdir(folder)


def scaled():
    X = NUMBERS.copy()
    X[:, 1] = np.log(X[:, 1])
    return X, np.nanmean(X, axis=0), np.nanstd(X, axis=0)


def test_a_fit_is_the_library_s_with_the_documented_model():
    X, center, scale = scaled()
    t = np.arange(24.0) + 19723  # days since 1970-01-01
    distances = np.abs(t[:, None] - t)
    length = np.sqrt(np.median(distances[distances > 0]) * 1.0)
    prior = DDIBP(Exponential(Gamma(1.0, float(f"{length:.3g}"))), sequential=True)
    mine = sample_posterior(
        prior, LinearGaussian(), (X - center) / scale, t, draws=30, tune=5, chains=2, seed=3, progress=False
    )
    theirs = load_posterior("run")
    assert theirs.prior == prior
    assert theirs.likelihood == LinearGaussian()
    np.testing.assert_array_equal(theirs.context["covariates"], t)
    np.testing.assert_allclose(theirs.observed, mine.observed, rtol=1e-12)
    np.testing.assert_allclose(theirs.completed(), mine.completed(), rtol=1e-9)
    np.testing.assert_array_equal(theirs.n_features, mine.n_features)


def test_impute_keeps_every_cell_that_was_there():
    before, after = table(TEXT), table(succeed("impute run").stdout)
    assert list(before) == list(after)
    missing = np.isnan(NUMBERS)
    for name, cells_before in before.items():
        changed = [i for i, (a, b) in enumerate(zip(cells_before, after[name], strict=True)) if a != b]
        wanted = np.flatnonzero(missing[:, COLUMNS.index(name)]).tolist() if name in COLUMNS else []
        assert changed == wanted, name


def test_imputed_numbers_are_posterior_means_in_the_units_of_the_table():
    posterior = load_posterior("run")
    _, center, scale = scaled()
    after = table(succeed("impute run").stdout)
    means = posterior.completed() * scale + center
    assert after["depth"][2] == f"{means[2, 0]:.3f}"  # two decimals more than the column has
    assert after["lead"][15] == f"{means[15, 2]:.4f}"
    draws = posterior.imputation_draws()
    logged = np.exp(draws[:, 1] * scale[1] + center[1])  # row 7, of which only zinc is missing
    assert after["zinc"][7] == f"{logged.mean():.5f}"


def test_entries_have_standard_deviations_and_intervals():
    entries = table(succeed("impute run --entries --interval 0.5").stdout)
    assert list(entries) == ["row", "column", "mean", "sd", "low", "high"]
    assert list(zip(entries["row"], entries["column"], strict=True)) == [
        ("s2", "depth"),
        ("s7", "zinc"),
        ("s15", "depth"),
        ("s15", "lead"),
    ]
    posterior = load_posterior("run")
    _, center, scale = scaled()
    found = posterior.imputations(0.5)
    for i, j in ((0, 0), (3, 2)):
        expected = (found.mean[i] * scale[j] + center[j], found.sd[i] * scale[j])
        np.testing.assert_allclose([float(entries["mean"][i]), float(entries["sd"][i])], expected, atol=1e-3)
        ends = (found.low[i] * scale[j] + center[j], found.high[i] * scale[j] + center[j])
        np.testing.assert_allclose([float(entries["low"][i]), float(entries["high"][i])], ends, atol=1e-3)
    assert all(float(low) < float(high) for low, high in zip(entries["low"], entries["high"], strict=True))


def test_draws_are_whole_tables_below_each_other():
    several = table(succeed("impute run --draws 5").stdout)
    assert several["draw"] == [str(k + 1) for k in range(5) for _ in range(24)]
    assert several["site"] == table(TEXT)["site"] * 5
    assert len({several["depth"][24 * k + 2] for k in range(5)}) > 1
    assert {several["depth"][24 * k + 3] for k in range(5)} == {table(TEXT)["depth"][3]}


def test_entries_and_draws_exclude_each_other():
    result = run("impute run --entries --draws 3")
    assert result.exit_code == 2
    assert "choose one" in result.stderr


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "npz"])
def test_every_format_that_is_written_can_be_read(suffix):
    succeed(f"impute run -o out.{suffix}")
    read, shown = read_table(f"out.{suffix}"), table(succeed("impute run").stdout)
    assert list(read.columns) == list(shown)
    for name in ("site", "day", "note"):
        assert read[name] == shown[name]
    np.testing.assert_array_equal(cells.data(read, COLUMNS), [[float(shown[c][i]) for c in COLUMNS] for i in range(24)])


def test_summary_tells_what_was_fitted_and_warns():
    posterior = load_posterior("run")
    result = succeed("summary run")
    assert "data.csv, columns standardised, log of zinc" in result.stdout
    assert "24 rows, 3 columns, 4 entries missing" in result.stdout
    assert repr(posterior.prior) in result.stdout
    assert "n_features" in result.stdout
    for warning in posterior.warnings:
        assert result.stdout.count(warning) == 1
    assert posterior.warnings
    assert run("summary run --strict").exit_code == 3
    for k, p in posterior.n_features_law().items():
        assert f"{k} ({p:.0%})" in result.stdout or "..." in result.stdout


def test_strict_fits_exit_with_three_when_the_diagnostics_warn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(TEXT)
    result = run(FIT.replace("--draws 30", "--draws 3") + " --strict")
    assert result.exit_code == 3
    assert "Warning: There are 3 draws per chain" in result.stderr
    assert run(FIT.replace("--draws 30", "--draws 3") + " --resume").exit_code == 0


def test_report_gets_names_and_units(monkeypatch):
    calls = []
    monkeypatch.setattr("ddibp.report.write_report", lambda *given, **more: calls.append((given, more)) or given[1])
    assert succeed("report run -o r.html --interval 0.5").stdout == "r.html\n"
    (given, more), _ = *calls, None
    _, center, scale = scaled()
    assert given[1] == "r.html"
    assert more["title"] == "Latent features of data.csv"
    assert more["column_names"] == ["depth", "log zinc", "lead"]
    assert more["row_names"] == [f"s{i}" for i in range(24)]
    assert more["covariate_names"] == ["day"]
    assert more["interval"] == 0.5
    np.testing.assert_allclose(more["center"], center)
    np.testing.assert_allclose(more["scale"], scale)


def test_report_writes_a_page():
    succeed('report run -o page.html --title "Three metals"')
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "Three metals" in page
    assert "zinc" in page


def test_runs_made_in_python_have_summaries_and_reports(tmp_path):
    path = tmp_path / "bare"
    sample_posterior(
        IBP(1.0), LinearGaussian(1.0, 1.0), [[1.0], [2.0]], draws=9, tune=0, chains=1, checkpoint=path, progress=False
    )
    assert "2 rows, 1 columns" in succeed(f"summary {path}").stdout
    succeed(f"report {path} -o bare.html")


def test_transform_is_the_library_s():
    from ddibp.prediction import extend

    new = "day,lead,zinc,site\n2024-01-25,3.0,20,n1\n2024-01-26T12:00:00,,,n2\n"
    Path("new.csv").write_text(new)
    features = table(succeed("transform run new.csv").stdout)
    _, center, scale = scaled()
    X = np.array([[np.nan, np.log(20.0), 3.0], [np.nan] * 3])
    expected = extend(load_posterior("run"), (X - center) / scale, np.array([24.0, 25.5]) + 19723)
    assert features["site"] == ["n1", "n2"]
    assert features["day"] == ["2024-01-25", "2024-01-26T12:00:00"]
    for k in range(expected.probabilities.shape[1]):
        np.testing.assert_allclose(np.array(features[f"feature_{k}"], float), expected.probabilities[:, k], atol=5e-5)
    np.testing.assert_allclose(np.array(features["features_fresh"], float), expected.fresh, atol=5e-5)
    binary = table(succeed("transform run new.csv --binary").stdout)
    assert binary["feature_0"] == [str(int(p > 0.5)) for p in expected.probabilities[:, 0]]


def test_transform_without_a_table_is_about_the_fitted_rows():
    features = table(succeed("transform run").stdout)
    found = load_posterior("run").feature_probabilities().probabilities
    assert features["site"] == table(TEXT)["site"]
    np.testing.assert_allclose(np.array(features["feature_0"], float), found[:, 0], atol=5e-5)


def test_resuming_extends_to_the_same_draws(tmp_path, monkeypatch):
    whole = load_posterior("run")
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(TEXT)
    succeed(FIT.replace("--draws 30", "--draws 12") + " --resume")  # nothing to resume: begins
    assert load_posterior("run").n_draws == 12
    Path("run/table.json").write_text("damaged")
    succeed(FIT + " --resume")
    np.testing.assert_array_equal(load_posterior("run").n_features, whole.n_features)
    assert json.loads(Path("run/table.json").read_text())["columns"] == list(COLUMNS)


def test_interruption_exits_with_130_and_says_how_to_go_on(tmp_path, monkeypatch):
    from ddibp.cli import fitting

    real = fitting.run

    def interrupted(*given, **more):
        posterior = real(*given, **more)
        warnings.warn(
            "Interrupted: the chains have 1 to 2 of 9 draws. The same call goes on from /x.",
            RuntimeWarning,
            stacklevel=1,
        )
        return posterior

    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(TEXT)
    monkeypatch.setattr(fitting, "run", interrupted)
    result = run(FIT)
    assert result.exit_code == 130
    assert result.stderr.endswith(
        "Interrupted: the chains have 1 to 2 of 9 draws. Go on with the same command and --resume.\n"
    )

    def torn(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "run", torn)
    result = run(FIT + " --resume")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (130, "Interrupted.")


def test_control_c_in_a_terminal_leaves_a_run_to_go_on_with(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(TEXT)
    program = [sys.executable, "-c", "from ddibp.cli import main; main()"]
    process = subprocess.Popen(
        [*program, *shlex.split(FIT.replace("--draws 30", "--draws 1000000"))],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a shell may have ignored it
    )
    while not Path("run/table.json").exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=180)
    assert process.returncode == 130, told
    last = told.splitlines()[-1]
    assert last.startswith("Interrupted")
    assert last.endswith("Go on with the same command and --resume.")
    assert "Traceback" not in told
    unfinished = run("impute run")
    if unfinished.exit_code == 0:
        assert unfinished.stderr.startswith("Warning: The run is unfinished: ")
        assert "Go on with the same command and --resume.\n" in unfinished.stderr
    else:
        assert "holds no draws yet" in unfinished.stderr


def test_warnings_of_the_library_are_one_line(monkeypatch):
    from ddibp import sampling

    def warns(path):
        warnings.warn("something\nodd", UserWarning, stacklevel=1)
        return load_posterior(path)

    monkeypatch.setattr(sampling, "load_posterior", warns, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert succeed("summary run").stderr == "Warning: something odd\n"


# Options


def plan(line):
    from ddibp.cli import fit, fitting  # noqa: F401

    context = main.commands["fit"].make_context("fit", shlex.split(line))
    options = dict(context.params)
    return fitting.prepare(options.pop("data"), options)


@pytest.mark.parametrize(
    ("options", "prior"),
    [
        ("--covariate t --beta 0.1", DDIBP(Exponential(0.1))),
        ("--covariate t --beta 0.1 --alpha 2 --sequential", DDIBP(Exponential(0.1), alpha=2.0, sequential=True)),
        ("--covariate t", DDIBP(Exponential(Gamma(1.0, 1.41)))),
        ("--covariate t --decay logistic", DDIBP(Logistic(Gamma(1.0, 0.354), Gamma(4.0, 1.0)))),
        ("--covariate t --decay logistic --nu 3", DDIBP(Logistic(Gamma(1.0, 0.354), 3.0))),
        ("--covariate t --decay window", DDIBP(Window(Gamma(2.0, 1.41)))),
        ("--covariate t --decay window --nu 3 --cutoff 0.1", DDIBP(Window(3.0), cutoff=0.1)),
        ("--covariate t --decay constant", DDIBP(ddibp.Constant())),
        ("--covariate t,y --metric cityblock --beta 2", DDIBP(Exponential(2.0), metric="cityblock")),
        ("--prior ibp", IBP()),
        ("--prior ibp --alpha 3", IBP(3.0)),
        ("--covariate t --prior aibd --alpha 3", AIBD(Exponential(Gamma(1.0, 1.41)), alpha=3.0)),
        ("--covariate t --prior aibd --beta 2 --permutation uniform", AIBD(Exponential(2.0), permutation="uniform")),
        ("--covariate t --prior dhbp", DHBP(Exponential(Gamma(1.0, 1.41)), c0=Gamma(2.0, 1.0), c1=Gamma(2.0, 1.0))),
        (
            "--covariate t --prior dhbp --beta 2 --gamma 3 --c0 4 --c1 5 --coupling dish --sequential",
            DHBP(Exponential(2.0), gamma=3.0, c0=4.0, c1=5.0, coupling="dish", sequential=True),
        ),
        ("--covariate t --prior dibp --kernel matern32", DIBP("matern32", length_scale=Gamma(2.0, 1.41))),
        (
            "--covariate t,y --prior dibp --length-scale 3 --variance 2 --nugget 0.5 --alpha 2",
            DIBP(alpha=2.0, length_scale=3.0, variance=2.0, nugget=0.5),
        ),
    ],
)
def test_priors_are_those_of_the_options(options, prior, tmp_path):
    # Neighbours are 1 apart and half of all pairs at most 2: l is the square root of 2.
    (tmp_path / "t.csv").write_text("t,y,x\n0,1,1\n1,0,2\n2,2,5\n3,1,1\n4,0,3\n")
    assert plan(f"{tmp_path / 't.csv'} {options} -o new").prior == prior


def test_distances_between_groups_do_not_count():
    t, groups = np.array([[0.0], [100.0], [1.0], [101.0]]), ["a", "b", "a", "b"]
    prior = model.learned_prior({"prior": "ddibp"}, t, groups)
    assert prior.decay == Exponential(Gamma(1.0, 1.0))
    assert model.learned_prior({"prior": "ddibp"}, t, None).decay == Exponential(Gamma(1.0, 9.97))


@pytest.mark.parametrize(
    ("options", "transformed"),
    [
        ("", lambda X: (X - X.mean()) / X.std()),
        ("--standardise", lambda X: (X - X.mean()) / X.std()),
        ("--center", lambda X: X - X.mean()),
        ("--raw", lambda X: X),
        ("--raw --log x", np.log),
    ],
)
def test_columns_are_transformed_as_asked_and_back(options, transformed, tmp_path):
    (tmp_path / "t.csv").write_text("t,x\n0,1\n1,2\n2,5\n3,9\n")
    found = plan(f"{tmp_path / 't.csv'} --covariate t {options} -o new")
    x = np.array([1.0, 2.0, 5.0, 9.0])
    np.testing.assert_allclose(found.sampler.observed[:, 0], transformed(x), rtol=1e-12)
    np.testing.assert_allclose(found.record.to_scaling().back(found.sampler.observed)[:, 0], x, rtol=1e-12)


def test_scales_are_learned_around_the_spread_of_raw_data(tmp_path):
    (tmp_path / "t.csv").write_text("t,x\n0,1000\n1,2000\n2,3000\n")
    raw = plan(f"{tmp_path / 't.csv'} --covariate t --raw -o new").sampler.likelihood
    assert raw == LinearGaussian(Gamma(1.0, 0.00123), Gamma(1.0, 0.00123))
    given = plan(
        f"{tmp_path / 't.csv'} --covariate t --sigma-x 0.5 --sigma-w 2 --keep-weights -o new"
    ).sampler.likelihood
    assert given == LinearGaussian(0.5, 2.0, collapsed=False)


def test_scaling_of_several_columns_is_undone_column_by_column():
    X = np.array([[1.0, 10.0], [2.0, 30.0], [4.0, 20.0]])
    scaling = choose_scaling(X, ["a", "b"], ["b"], "standardise")
    np.testing.assert_allclose(scaling.back(scaling.forward(X)), X, rtol=1e-12)
    np.testing.assert_allclose(scaling.back(scaling.forward(X)[:, 1], [1, 1, 1]), X[:, 1], rtol=1e-12)


# Tables


def same(source):
    read = read_table(source)
    return {name: read[name] for name in read.columns}


def test_the_same_table_in_every_format(tmp_path):
    wanted = {"t": ["0", "1.5"], "label": ["a", "b"], "x": ["1", ""]}
    texts = {
        "a.csv": "t,label,x\n0,a,1\n1.5,b,\n",
        "b.csv": "t;label;x\n0;a;1\n1.5;b;\n",
        "c.tsv": "t\tlabel\tx\n0\ta\t1\n1.5\tb\t\n",
        "d.txt": "t\tlabel\tx\r\n0\ta\t1\r\n1.5\tb\t\r\n",
        "e.csv": '\ufefft, "label" ,x\n 0,a,1 \n1.5,"b",\n\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.replace(' "label" ', '"label"').encode())
        assert same(str(tmp_path / name)) == wanted, name
    for name in ("f.parquet", "g.npz"):
        write_table(str(tmp_path / name), wanted)
        read = read_table(str(tmp_path / name))
        assert read["label"] == wanted["label"]
        np.testing.assert_array_equal(cells.data(read, ["t", "x"]), [[0.0, 1.0], [1.5, np.nan]])


def test_a_table_from_standard_input_can_be_fitted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = succeed("fit - --covariate t --draws 2 --tune 0 --chains 1 -o run", "t\tx\n0\t1\n1\t\n2\t3\n")
    assert result.stderr.startswith("standard input: 3 rows, 1 columns (standardised), 1 of 3 entries missing\n")
    assert table(succeed("impute run").stdout)["x"][::2] == ["1", "3"]


def test_npz_takes_matrices_apart(tmp_path):
    np.savez(
        tmp_path / "m.npz", X=np.arange(6.0).reshape(3, 2), t=np.arange(3), other=np.zeros(5), cube=np.zeros((3, 1, 1))
    )
    assert same(str(tmp_path / "m.npz")) == {
        "X_0": ["0.0", "2.0", "4.0"],
        "X_1": ["1.0", "3.0", "5.0"],
        "t": ["0", "1", "2"],
    }


def test_parquet_keeps_dates_and_holes(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(
        {"t": pd.to_datetime(["2024-01-01 00:00", "2024-01-02 12:00"]), "x": [None, 2.5], "on": [True, False]}
    )
    frame.index = pd.Index([5, 9])
    frame.to_parquet(tmp_path / "p.parquet")
    read = read_table(str(tmp_path / "p.parquet"))
    assert read.names == ["t", "x", "on"]
    assert (read["x"], read["on"]) == (["", "2.5"], ["1", "0"])
    np.testing.assert_array_equal(cells.covariates(read, ["t"])[:, 0], [19723.0, 19724.5])


def test_a_column_without_a_name_is_no_data(tmp_path):
    (tmp_path / "t.csv").write_text(",t,x\n0,0,1\n1,1,2\n2,2,4\n")
    assert plan(f"{tmp_path / 't.csv'} --covariate t -o new").record.columns == ["x"]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        (["1970-01-02", "1970-01-03"], [1.0, 2.0]),
        (["1970-01-02T12:00", "1970-01-03 18:00:00"], [1.5, 2.75]),
        (["1970-01-02T02:00+02:00", "1970-01-02T00:00Z"], [1.0, 1.0]),
        (["1950", "1951"], [1950.0, 1951.0]),
        (["1e3", "-2.5"], [1000.0, -2.5]),
    ],
)
def test_covariates_are_numbers_or_days(text, days):
    read = Table("t", {"t": text}, ["row 1", "row 2"])
    np.testing.assert_allclose(cells.covariates(read, ["t"])[:, 0], days)


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (["1", "", "3"], "2.35"),
        (["1.5", "nan", "3"], "2.346"),
        (["1.2345678901234567", "2"], "2.345678900000"),
        (["1e-3", "2"], "2.34568"),
        (["", "NA"], "2.35"),
    ],
)
def test_imputed_numbers_have_two_decimals_more_than_their_column(column, shown):
    assert cells.written(2.3456789, cells.decimals(column)) == shown


# Help and completion


@pytest.mark.parametrize("command", list(main.commands))
def test_every_command_shows_examples(command):
    text = succeed(f"{command} --help").stdout
    examples = [line.strip() for line in text.splitlines() if line.startswith("    ddibp ")]
    assert len(examples) >= 2
    assert all(example.startswith(f"ddibp {command}") for example in examples)


@pytest.mark.parametrize("command", ["summary", "impute", "transform", "report"])
def test_the_examples_of_commands_on_runs_run(command):
    Path("new.csv").write_text(TEXT)
    text = succeed(f"{command} --help").stdout
    for example in re.findall(r"^    ddibp (.+)$", text, flags=re.MULTILINE):
        succeed(example.partition(" > ")[0].replace("--strict", ""))


def test_the_examples_of_fit_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{i},{50 + i / 10},{i},{3 * i},s{i},{rng.gamma(2):.3f},{rng.gamma(2):.3f}" for i in range(8)]
    for name, header in (
        ("data.csv", "age,h1,h2,h3"),
        ("soil.csv", "h1,lat,lon,h2,site,Cd,Zn"),
        ("eeg.tsv", "time,h1,h2"),
    ):
        width = header.count(",") + 1
        lines = [header, *(",".join(row.split(",")[:width]) for row in rows)]
        Path(name).write_text("\n".join(lines).replace(",", "\t" if name.endswith("tsv") else ",") + "\n")
    text = succeed("fit --help").stdout
    examples = re.findall(r"^    ddibp (.+)$", text, flags=re.MULTILINE)
    assert len(examples) == 5
    for example in examples:
        smaller = re.sub(r"--draws \d+", "", example) + (" --draws 4" if "--resume" in example else " --draws 2")
        succeed(f"{smaller} --tune 1 --chains 1")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_line_for_the_shell(shell):
    line = succeed(f"completion {shell}").stdout
    assert f"_DDIBP_COMPLETE={shell}_source ddibp" in line
    assert line.count("\n") == 1


def test_completion_knows_commands_options_and_registered_names():
    def complete(words, at):
        environment = {"_DDIBP_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        code = "from ddibp.cli import main; main(prog_name='ddibp')"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return {line.partition(",")[2] for line in done.stdout.splitlines()}

    assert complete("ddibp ", 1) == set(main.commands)
    assert "--covariate" in complete("ddibp fit --c", 2)
    assert complete("ddibp fit --decay ", 3) == {"constant", "exponential", "logistic", "window"}


@pytest.mark.parametrize("command", list(main.commands))
def test_help_loads_nothing_heavy(command):
    code = (
        f"import sys; from ddibp.cli import main; main(['{command}', '--help'], standalone_mode=False);"
        "print(sorted({'scipy', 'numba', 'matplotlib', 'sklearn', 'xarray', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
