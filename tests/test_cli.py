"""The command line: what it writes is what the library computes, and every mistake gets one readable line."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import ddibp
from ddibp import DDIBP, DHBP, DIBP, IBP, Constant, Exponential, Logistic, Window, registry, sharing
from ddibp.cli import main

PLACES = "time,site,label\n0,1.5,a\n1,2.5,a\n2,0,b\n4,1e1,b\n"


@pytest.fixture(autouse=True)
def _in_a_fresh_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(line, stdin=None):
    return CliRunner().invoke(main, shlex.split(line), input=stdin)


def succeed(line, stdin=None):
    result = run(line, stdin)
    assert result.exit_code == 0, result.output
    return result


def fail(line, message, code=2, stdin=None):
    """Run, and require one line of error that matches, no traceback and no output."""
    result = run(line, stdin)
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    assert re.search(message, last), last
    assert "Traceback" not in result.stderr
    return result


def table(text):
    header, *rows = csv.reader(io.StringIO(text))
    return header, np.array(rows, dtype=float).reshape(len(rows), len(header))


def write(name, text):
    Path(name).write_text(text, encoding="utf-8")
    return name


T = np.arange(12.0)
MODELS = [
    ("--alpha 3", DDIBP(Exponential(), alpha=3.0)),
    ("--prior ddibp --decay exponential --beta 0.3 --alpha 3", DDIBP(Exponential(0.3), alpha=3.0)),
    ("--decay constant --alpha 2 --sequential", DDIBP(Constant(), alpha=2.0, sequential=True)),
    ("--decay logistic --beta 2 --nu 6 --alpha 2 --no-sequential", DDIBP(Logistic(2.0, 6.0), alpha=2.0)),
    ("--decay window --nu 3.5 --alpha 2", DDIBP(Window(3.5), alpha=2.0)),
    ("--beta 0.3 --cutoff 0.2 --metric sqeuclidean", DDIBP(Exponential(0.3), cutoff=0.2, metric="sqeuclidean")),
    ("--prior ibp --alpha 4", IBP(4.0)),
    ("--prior ibp", IBP()),
    ("--prior dhbp --beta 0.3 --gamma 2 --c0 3 --c1 2", DHBP(Exponential(0.3), gamma=2.0, c0=3.0, c1=2.0)),
    ("--prior dhbp --gamma 2 --coupling dish --sequential", DHBP(Exponential(), 2.0, sequential=True, coupling="dish")),
    ("--prior dibp --alpha 4", DIBP(alpha=4.0)),
    (
        "--prior dibp --kernel matern32 --length-scale 3 --variance 2 --nugget 0.2 --alpha 2",
        DIBP("matern32", alpha=2.0, length_scale=3.0, variance=2.0, nugget=0.2),
    ),
]


@pytest.mark.parametrize(("options", "prior"), MODELS, ids=[options for options, _ in MODELS])
def test_simulate_writes_the_prior_s_draw(options, prior):
    result = succeed(f"simulate {options} --rows 12 --seed 5")
    header, Z = table(result.stdout)
    np.testing.assert_array_equal(Z, prior.sample(T, rng=5))
    assert header == [f"feature_{k}" for k in range(Z.shape[1])]
    assert result.stderr == f"{Z.shape[1]} features in 12 rows, seed 5\n"


@pytest.mark.parametrize(("options", "prior"), MODELS, ids=[options for options, _ in MODELS])
@pytest.mark.parametrize("fraction", [False, True], ids=["expected", "fraction"])
def test_sharing_writes_the_prior_s_matrix(options, prior, fraction):
    result = succeed(f"sharing {options} --rows 12 --seed 5 --draws 50" + fraction * " --fraction")
    header, S = table(result.stdout)
    compute = sharing.limiting_fraction if fraction else sharing.expected
    truth = compute(prior, T, n_draws=50, rng=5)
    np.testing.assert_array_equal(S, truth.values)
    assert header == [f"row_{i}" for i in range(12)]
    label = "limiting fraction of shared features" if fraction else "expected shared features"
    assert result.stderr == f"{label} of 12 rows by {truth.method}\n"


def test_monte_carlo_reports_its_largest_standard_error():
    result = succeed('sharing --beta 0.3 --alpha 3 --rows 12 --method "monte carlo" --draws 40 --seed 5 --out s.npz')
    truth = sharing.expected(DDIBP(Exponential(0.3), alpha=3.0), T, method="monte carlo", n_draws=40, rng=5)
    largest = f"{truth.standard_error.max():.2g}"
    assert result.stderr == (
        f"expected shared features of 12 rows by monte carlo (40 draws, seed 5), largest standard error {largest}\n"
    )
    with np.load("s.npz") as saved:
        np.testing.assert_array_equal(saved["sharing"], truth.values)
        np.testing.assert_array_equal(saved["standard_error"], truth.standard_error)


@pytest.mark.parametrize("method", ["enumeration", "recursion"])
def test_the_method_can_be_chosen(method):
    result = succeed(f"sharing --rows 5 --alpha 1 --sequential --method {method}")
    assert result.stderr.endswith(f"by {method}\n")
    np.testing.assert_allclose(
        table(result.stdout)[1], sharing.expected(DDIBP(alpha=1.0, sequential=True), T[:5]).values, rtol=1e-10
    )


def test_simulate_npz_holds_the_draw_its_causes_and_its_origin():
    result = succeed("simulate --beta 0.3 --alpha 3 --rows 12 --seed 5 --out z.NPZ")
    assert result.stdout == ""
    prior = DDIBP(Exponential(0.3), alpha=3.0)
    draw = prior.sample(T, rng=5, return_causes=True)
    with np.load("z.NPZ") as saved:
        assert set(saved) == {"Z", "owners", "links", "covariates", "settings"}
        assert saved["Z"].dtype == bool
        for name in draw._fields:
            np.testing.assert_array_equal(saved[name], getattr(draw, name))
        np.testing.assert_array_equal(saved["covariates"], T)
        settings = json.loads(str(saved["settings"]))
    assert settings == {"ddibp": ddibp.__version__, "prior": repr(prior), "seed": 5}
    assert eval(settings["prior"], vars(ddibp) | {"DDIBP": DDIBP, "Exponential": Exponential}) == prior


def test_npz_of_a_prior_without_causes_has_none():
    succeed("simulate --prior dhbp --gamma 2 --rows 12 --out z.npz")
    with np.load("z.npz") as saved:
        assert set(saved) == {"Z", "covariates", "settings"}


def test_sharing_npz_of_an_exact_method_has_no_standard_error():
    succeed("sharing --alpha 2 --sequential --rows 12 --seed 1 --draws 9 --fraction --out s.npz")
    with np.load("s.npz") as saved:
        assert set(saved) == {"sharing", "covariates", "settings"}
        settings = json.loads(str(saved["settings"]))
    prior = repr(DDIBP(Exponential(), alpha=2.0, sequential=True))
    used = {"seed": 1, "fraction": True, "method": "recursion", "draws": 9}
    assert settings == {"ddibp": ddibp.__version__, "prior": prior, **used}


@pytest.mark.parametrize(("command", "picture"), [("simulate", "feature_matrix"), ("sharing", "sharing_matrix")])
def test_png_is_a_picture_of_the_same_matrix(command, picture, monkeypatch):
    from ddibp import plots

    shown = []
    real = getattr(plots, picture)
    monkeypatch.setattr(plots, picture, lambda matrix, **more: shown.append((matrix, more)) or real(matrix, **more))
    result = succeed(f"{command} --alpha 2 --sequential --rows 12 --seed 5 --out p.png")
    assert result.stdout == ""
    assert Path("p.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    ((matrix, more),) = shown
    prior = DDIBP(Exponential(), alpha=2.0, sequential=True)
    if command == "simulate":
        draw = prior.sample(T, rng=5, return_causes=True)
        np.testing.assert_array_equal(matrix, draw.Z)
        np.testing.assert_array_equal(more["owners"], draw.owners)
    else:
        np.testing.assert_array_equal(matrix, prior.expected_sharing(T))
        assert more["label"] == "expected shared features"


def test_csv_file_and_stdout_agree():
    shown = succeed("simulate --alpha 2 --rows 12 --seed 5").stdout
    result = succeed("simulate --alpha 2 --rows 12 --seed 5 --out z.csv")
    assert result.stdout == ""
    assert Path("z.csv").read_text(encoding="utf-8") == shown
    assert succeed("simulate --alpha 2 --rows 12 --seed 5 --out -").stdout == shown


def test_without_features_there_is_a_line_per_row():
    result = succeed("simulate --alpha 1e-9 --rows 4 --seed 0")
    assert result.stdout.count("\n") == 5
    assert result.stderr == "0 features in 4 rows, seed 0\n"
    succeed("simulate --alpha 1e-9 --rows 4 --seed 0 --out z.png")


def test_a_seed_that_was_not_given_is_reported_and_repeats_the_draw():
    first, second = (succeed("simulate --alpha 5 --rows 30") for _ in range(2))
    assert first.stdout != second.stdout
    seed = re.search(r"seed (\d+)", first.stderr)[1]
    assert succeed(f"simulate --alpha 5 --rows 30 --seed {seed}").stdout == first.stdout


# Covariates from files


@pytest.mark.parametrize(
    ("options", "covariates"),
    [
        ("--covariate time", [0.0, 1.0, 2.0, 4.0]),
        ("--covariate site --covariate time", [[1.5, 0.0], [2.5, 1.0], [0.0, 2.0], [10.0, 4.0]]),
    ],
)
@pytest.mark.parametrize("source", ["file", "stdin"])
def test_covariates_are_columns_by_name(options, covariates, source):
    file = write("places.csv", PLACES) if source == "file" else "-"
    result = succeed(f"simulate --alpha 4 --seed 5 --covariates {file} {options}", PLACES if file == "-" else None)
    np.testing.assert_array_equal(table(result.stdout)[1], DDIBP(alpha=4.0).sample(covariates, rng=5))


def test_groups_share_nothing_and_are_saved():
    write("places.csv", PLACES)
    line = "sharing --alpha 4 --covariates places.csv --covariate time --group label"
    S = table(succeed(line).stdout)[1]
    prior = DDIBP(alpha=4.0)
    proximity = prior.proximity([0.0, 1.0, 2.0, 4.0], groups=[0, 0, 1, 1])
    np.testing.assert_array_equal(S, prior.expected_sharing(proximity))
    assert not S[:2, 2:].any()
    succeed(line + " --out s.npz")
    with np.load("s.npz") as saved:
        assert saved["groups"].tolist() == ["a", "a", "b", "b"]
        assert saved["covariates"].tolist() == [0.0, 1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    "text",
    [
        "t\n0\n1\n3\n",
        "\ufefft\n0\n1\n3\n",
        "t\r\n0\r\n1\r\n3\r\n",
        " t \n 0\n1 \n3\n\n  \n\n",
        '"t"\n"0"\n"1"\n"3"',
        "t,g\n0,a\n1,a\n3,a\n",
    ],
    ids=["plain", "byte order mark", "CRLF", "blanks", "quotes", "beside the group"],
)
def test_the_only_column_needs_no_name(text):
    group = " --group g" if ",g" in text else ""
    Path("t.csv").write_bytes(text.encode())
    for line in ("--covariates -", "--covariates t.csv", "--covariates - --covariate t"):
        S = table(succeed(f"sharing --alpha 1 {line}{group}", text.encode()).stdout)[1]
        np.testing.assert_allclose(S, DDIBP(alpha=1.0).expected_sharing([0.0, 1.0, 3.0]))


def test_precomputed_distances_take_all_columns():
    text = "a,b,c\n0,1,inf\n1,0,2\ninf,2,0\n"
    S = table(succeed("sharing --alpha 1 --metric precomputed --covariates -", text).stdout)[1]
    D = np.array([[0.0, 1.0, np.inf], [1.0, 0.0, 2.0], [np.inf, 2.0, 0.0]])
    np.testing.assert_array_equal(S, DDIBP(alpha=1.0, metric="precomputed").expected_sharing(D))


def test_the_ibp_takes_the_number_of_rows_from_a_file():
    S = table(succeed("sharing --prior ibp --alpha 2 --covariates - --covariate time", PLACES).stdout)[1]
    np.testing.assert_array_equal(S, IBP(2.0).expected_sharing(4))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", "", r"^Error: data\.csv is empty; it needs a header"),
        ("\n\n", "", r"data\.csv is empty"),
        ("t\n", "", r"data\.csv has a header but no rows"),
        ("0\n1\n2\n", "", r"data\.csv, line 1 holds numbers, but it must be a header"),
        (PLACES, "", r"data\.csv has columns time, site, label; choose with --covariate COLUMN"),
        (PLACES, "--covariate tme", r"data\.csv has no column 'tme'; its columns are time, site, label"),
        (PLACES, "--covariate time --group lbl", r"data\.csv has no column 'lbl'; its columns are time, site, label"),
        ("t,t\n0,1\n", "--covariate t", r"data\.csv has more than one column 't'; its columns are t, t"),
        (PLACES, "--covariate label", r"data\.csv, line 2, column 'label': 'a' is not a finite number"),
        ("t\n0\nnan\n", "", r"data\.csv, line 3, column 't': 'nan' is not a finite number"),
        ("t\n0\n1\ninf\n", "", r"data\.csv, line 4, column 't': 'inf' is not a finite number"),
        ("t,u\n0,1\n,2\n", "--covariate t", r"data\.csv, line 3, column 't': the cell is empty"),
        ("t,g\n0,a\n1,\n", "--covariate t --group g", r"data\.csv, line 3, column 'g': the cell is empty"),
        ("t,u\n0,1\n1\n", "--covariate t", r"data\.csv, line 3: cells must match the header's 2 in number, got 1"),
        ("t,u\n0,1,2\n", "--covariate t", r"data\.csv, line 2: cells must match the header's 2 in number, got 3"),
        ("t\n0\n\n1\n", "", r"data\.csv, line 3: cells must match the header's 1 in number, got 0"),
        ('t\n"0\n', "", r"data\.csv is not a CSV file in UTF-8"),
        ("t\n1\n0\n", "--sequential", r"sequential=True needs rows in the order of their covariate"),
        ("a,b\n0,1\n", "--metric precomputed", r"distances must be a square matrix"),
        ("a,b\n0,-inf\n1,0\n", "--metric precomputed", r"line 2, column 'b': '-inf' is not a finite number"),
        ("a,b\n0,1\nnan,0\n", "--metric precomputed", r"line 3, column 'a': 'nan' is not a finite number"),
        ("0,1\n0,1\n1,0\n", "--metric precomputed", r"line 1 holds numbers, but it must be a header"),
        (PLACES, "--prior ibp --covariate time --group label", r"prior 'ibp' knows no distances"),
    ],
)
@pytest.mark.parametrize("command", ["simulate", "sharing"])
def test_faults_of_a_file_are_told_by_place(command, text, options, message):
    write("data.csv", text)
    fail(f"{command} --covariates data.csv {options}", message)


def test_stdin_is_called_by_name():
    fail("simulate --covariates -", r"standard input, line 3, column 't': 'x' is not", stdin="t\n0\nx\n")


def test_files_that_cannot_be_read():
    fail("simulate --covariates none.csv", r"cannot read none\.csv: No such file")
    fail("simulate --covariates .", r"cannot read \.: Is a directory")
    Path("bytes.csv").write_bytes(b"\xff\xfet\x000")
    fail("simulate --covariates bytes.csv", r"bytes\.csv is not a CSV file in UTF-8: 'utf-8' codec")


# Wrong options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "Say which rows: either --rows N .* or --covariates FILE"),
        ("--rows 3 --covariates x.csv", "Say which rows: either --rows N"),
        ("--rows 3 --group g", "--covariate and --group name columns of a file"),
        ("--rows 3 --covariate t", "--covariate and --group name columns of a file"),
        ("--rows 0", "'--rows': 0 is not in the range"),
        ("--rows x", "'--rows': 'x' is not a valid int"),
        ("--rows 3 --seed -1", "'--seed': -1 is not in the range"),
        ("--rows 3 --prior crp", "'--prior': 'crp' is not one of aibd, ddibp, dhbp, dibp, ibp"),
        ("--rows 3 --decay gauss", "'--decay': 'gauss' is not one of constant, exponential, logistic, window"),
        ("--rows 3 --coupling both", "'--coupling': 'both' is not one of 'customer', 'dish'"),
        ("--rows 3 --prior dhbp --alpha 1", "prior 'dhbp' has no parameter 'alpha'; it takes decay, gamma"),
        ("--rows 3 --gamma 1", "prior 'ddibp' has no parameter 'gamma'; it takes decay, alpha"),
        ("--rows 3 --prior ibp --gamma 1", "prior 'ibp' has no parameter 'gamma'; it takes alpha"),
        ("--rows 3 --prior ibp --decay window", "prior 'ibp' has no parameter 'decay'; it takes alpha"),
        ("--rows 3 --prior ibp --beta 1", "prior 'ibp' has no parameter 'beta'; it takes alpha"),
        ("--rows 3 --prior ibp --sequential", "prior 'ibp' has no parameter 'sequential'; it takes alpha"),
        ("--rows 3 --prior ibp --no-sequential", "prior 'ibp' has no parameter 'sequential'; it takes alpha"),
        ("--rows 3 --prior ibp --metric cosine", "prior 'ibp' has no parameter 'metric'"),
        ("--rows 3 --prior ibp --cutoff 0", "prior 'ibp' has no parameter 'cutoff'"),
        ("--rows 3 --coupling dish", "prior 'ddibp' has no parameter 'coupling'"),
        ("--rows 3 --c0 1", "prior 'ddibp' has no parameter 'c0'"),
        ("--rows 3 --c1 1", "prior 'ddibp' has no parameter 'c1'"),
        ("--rows 3 --kernel rbf", "prior 'ddibp' has no parameter 'kernel'"),
        ("--rows 3 --kernel linear", "'--kernel': 'linear' is not one of 'rbf', 'matern12'"),
        ("--rows 3 --prior dibp --length-scale 0", "length_scale must be a number in"),
        ("--rows 3 --prior dibp --beta 1", "prior 'dibp' has no parameter 'beta'; it takes kernel, alpha"),
        ("--rows 3 --nu 1", "decay 'exponential' has no parameter 'nu'; it takes beta"),
        ("--rows 3 --decay window --beta 1", "decay 'window' has no parameter 'beta'; it takes nu"),
        ("--rows 3 --decay constant --nu 1", "decay 'constant' has no parameter 'nu'; it takes no parameters"),
        ("--rows 3 --beta -1", "beta must be a number in"),
        ("--rows 3 --alpha 0", "alpha must be a number in"),
        ("--rows 3 --alpha nan", "alpha must be a number in"),
        ("--rows 3 --cutoff -1", "cutoff must be a number in"),
        ("--rows 3 --metric manhattan", "metric must be a callable or one of euclidean"),
        ("--rows 3 --metric precomputed", "distances must be a square matrix"),
        ("--rows 3 --out z.txt", r"'--out' / '-o': 'z\.txt' must end in \.csv, \.npz or \.png"),
        ("--rows 3 --out z", r"'--out' / '-o': 'z' must end in \.csv, \.npz or \.png"),
        ("--rows 3 --out no/z.csv", r"'--out' / '-o': there is no directory 'no' to write 'z\.csv' to"),
    ],
)
@pytest.mark.parametrize("command", ["simulate", "sharing"])
def test_wrong_options_are_told_in_a_line(command, options, message):
    fail(f"{command} {options}", message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--rows 30 --method recursion", "method 'recursion' needs sequential distances"),
        ("--rows 30 --method enumeration", "the largest connected part has 30 rows"),
        ('--rows 3 --prior dhbp --method "monte carlo"', "method must be 'auto' for DHBP"),
        ("--rows 3 --method guess", "'--method': 'guess' is not one of"),
        ("--rows 30 --draws 1", "'--draws': 1 is not in the range"),
    ],
)
def test_wrong_methods_are_told_in_a_line(options, message):
    fail(f"sharing {options}", message)


def test_what_cannot_be_written_exits_with_one():
    Path("z.csv").mkdir()
    fail("simulate --rows 3 --out z.csv", r"z\.csv: Is a directory\.", code=1)


def test_too_little_memory_exits_with_one(monkeypatch):
    def hungry(*_, **__):
        raise MemoryError

    monkeypatch.setattr(IBP, "sample", hungry)
    fail("simulate --prior ibp --rows 3", r"not enough memory\.", code=1)


def test_debug_shows_where_it_happened():
    result = run("--debug simulate --rows 3 --beta -1")
    assert result.exit_code == 1
    assert type(result.exception) is ValueError
    assert str(result.exception).startswith("beta must be")


def test_a_bug_is_not_dressed_up_as_a_user_s_mistake(monkeypatch):
    def broken(*_, **__):
        raise KeyError("oops")

    monkeypatch.setattr(IBP, "sample", broken)
    result = run("simulate --prior ibp --rows 3")
    assert result.exit_code == 1
    assert type(result.exception) is KeyError


# Help, version, demo, registry


@pytest.mark.parametrize("command", ["simulate", "sharing"])
def test_examples_in_the_help_run(command):
    text = succeed(f"{command} --help").stdout
    examples = [line.strip() for line in text.splitlines() if line.startswith("    ddibp ")]
    assert len(examples) == 2
    for example in examples:
        assert example.startswith(f"ddibp {command}")
        succeed(example.removeprefix("ddibp "))


def test_version():
    assert succeed("--version").stdout == f"ddibp {ddibp.__version__}\n"


def test_choices_come_from_the_registry(monkeypatch):
    monkeypatch.setitem(registry._DECAYS, "wide", Exponential)
    monkeypatch.setitem(registry._PRIORS, "buffet", IBP)
    text = succeed("simulate --help").stdout
    assert "[constant|exponential|logistic|wide|window]" in text
    assert "[aibd|buffet|ddibp|dhbp|dibp|ibp]" in text
    S = table(succeed("sharing --decay wide --beta 0.5 --alpha 1 --rows 3").stdout)[1]
    np.testing.assert_array_equal(S, DDIBP(Exponential(0.5), alpha=1.0).expected_sharing(T[:3]))
    succeed("simulate --prior buffet --alpha 1 --rows 3")


def test_every_parameter_of_every_prior_and_decay_has_an_option():
    options = {option.name for option in main.commands["simulate"].params if isinstance(option, click.Option)}
    for cls in (*registry.decays().values(), *registry.priors().values()):
        assert {field.name for field in fields(cls)} <= options


# The process itself

HEAVY = ["numba", "scipy", "matplotlib"]


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import ddibp.cli", [*HEAVY, "numpy"]),
        ("import ddibp.cli; ddibp.cli.main(['--help'], standalone_mode=False)", [*HEAVY, "numpy"]),
        ("import ddibp.cli; ddibp.cli.main(['simulate', '--help'], standalone_mode=False)", HEAVY),
        ("import ddibp", [*HEAVY, "numpy", "click"]),
        ("import ddibp; ddibp.DDIBP(ddibp.Exponential(0.1), alpha=2.0)", HEAVY),
        ("import ddibp; ddibp.plots", HEAVY),
    ],
)
def test_imports_are_lazy(code, absent):
    code += f"\nimport sys, json; print(json.dumps([m for m in {absent!r} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []


@pytest.mark.parametrize("rows", [3, 3000], ids=["within the buffer", "beyond the buffer"])
def test_a_closed_pipe_is_quiet(rows):
    program = [sys.executable, "-c", "from ddibp.cli import main; main()"]
    arguments = ["simulate", "--alpha", "5", "--seed", "0", "--rows", str(rows)]
    process = subprocess.Popen(program + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    complaints = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 1
    assert complaints == b""
