"""Everything in the table of docs/bad_input.md happens as it says: one line, no traceback, nothing on stdout.

Cases that need a run look at copies of one tiny run.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from ddibp.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "bad_input.md"
GOOD = "name,age,height,weight\nAnn,31,170,61\nBob,35,,80\nCid,40,182,75.5\nDot,44,165,58\n"
FIT = "fit data.csv --covariate age --id name"
DRAW = " --draws 5 --tune 0 --chains 1 --quiet"


class Situation:
    """A folder with what a user may have in it, and ways to break it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, run: Path, opened: contextlib.ExitStack) -> None:
        self.monkeypatch = monkeypatch
        self.opened = opened
        self._run = run

    def data(self, text: str | bytes, name: str = "data.csv") -> None:
        Path(name).write_bytes(text.encode() if isinstance(text, str) else text)

    def run(self) -> None:
        shutil.copytree(self._run, "run")


class Case(NamedTuple):
    """What is wrong, how it comes about, what was typed, and the status."""

    what: str
    command: str
    setting: Callable[[Situation], None]
    status: int = 2


def text(content: str) -> Callable[[Situation], None]:
    return lambda s: s.data(content)


def changed(old: str, new: str) -> Callable[[Situation], None]:
    assert old in GOOD
    return text(GOOD.replace(old, new))


def good(s: Situation) -> None:
    s.data(GOOD)


def with_run(s: Situation) -> None:
    s.data(GOOD)
    s.run()


def no_pyarrow(s: Situation) -> None:
    s.data(b"PAR1", "data.parquet")
    s.monkeypatch.setitem(sys.modules, "pyarrow", None)


def little_memory(s: Situation) -> None:
    s.data("t,x\n" + "".join(f"{i},{i % 7}\n" for i in range(3000)))
    s.monkeypatch.setattr(os, "sysconf", lambda name: 4096 if name == "SC_PAGE_SIZE" else 1024)


def a_file_called_run(s: Situation) -> None:
    s.data(GOOD)
    s.data("", "run")


def a_foreign_folder(s: Situation) -> None:
    s.data(GOOD)
    Path("run").mkdir()
    s.data("", "run/thesis.tex")


def a_run_in_use(s: Situation) -> None:
    with_run(s)
    lock = s.opened.enter_context(Path("run/.lock").open("a"))  # noqa: SIM115
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def a_damaged_part(s: Situation) -> None:
    s.run()
    part = Path("run/chain-0/part-00000.npz")
    part.write_bytes(part.read_bytes()[:200])


def a_changed_table(s: Situation) -> None:
    s.run()
    s.data(GOOD.replace("182", "183"), "run/table.csv")


def no_table(s: Situation) -> None:
    s.run()
    Path("run/table.json").unlink()


def a_folder_called_c(s: Situation) -> None:
    s.run()
    Path("c.csv").mkdir()


def a_full_disk(s: Situation) -> None:
    s.data(GOOD)
    save = np.savez

    def fail(file: io.IOBase, **arrays: object) -> None:
        if "sweeps" in arrays:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(file, **arrays)

    s.monkeypatch.setattr(np, "savez", fail)


def a_full_device(s: Situation) -> None:
    s.run()
    Path("c.csv").symlink_to("/dev/full")


def no_memory(s: Situation) -> None:
    s.data(GOOD)

    def hungry(*_: object, **__: object) -> None:
        raise MemoryError

    s.monkeypatch.setattr("ddibp.cli.cells.data", hungry)


CASES = [
    Case("no such file", f"{FIT.replace('data', 'dta')} -o run", good),
    Case("an empty file", f"{FIT} -o run", text("")),
    Case("a header without rows", f"{FIT} -o run", text("name,age,height\n")),
    Case("no header", "fit data.csv --covariate age -o run", text("31,170\n35,168\n")),
    Case("a line of another length", f"{FIT} -o run", changed("Bob,35,,80", "Bob,35,80")),
    Case("two columns of one name", f"{FIT} -o run", changed("height,weight", "height,height")),
    Case("not a text file", f"{FIT} -o run", lambda s: s.data(b"\x89PNG\r\n\x1a\n\x00\xff")),
    Case("a spreadsheet", "fit data.xlsx --covariate age -o run", lambda s: s.data(b"PK", "data.xlsx")),
    Case("Parquet without pyarrow", "fit data.parquet --covariate age -o run", no_pyarrow),
    Case("a damaged Parquet file", "fit data.parquet --covariate age -o run", lambda s: s.data("PAR1", "data.parquet")),
    Case("a damaged NPZ file", "fit data.npz --covariate age -o run", lambda s: s.data("PK", "data.npz")),
    Case("a wrong column name", "fit data.csv --covariate aeg -o run", good),
    Case("a wrong name to leave out", "fit data.csv --covariate age --exclude nam -o run", good),
    Case("a name with two roles", "fit data.csv --covariate age --columns age,height -o run", good),
    Case("no column left", "fit data.csv --covariate age --exclude name,height,weight -o run", good),
    Case("a logarithm of what is no data", f"{FIT} --log age -o run", good),
    Case("text in a column of numbers", f"{FIT} -o run", changed("182", "tall")),
    Case("a column of names as data", "fit data.csv --covariate age -o run", good),
    Case("an infinite value", f"{FIT} -o run", changed("182", "inf")),
    Case("a column without a number", f"{FIT} -o run", text("name,age,height,weight\nAnn,31,,61\nBob,35,NA,80\n")),
    Case(
        "a column that does not vary", f"{FIT} -o run", text("name,age,height,weight\nAnn,31,170,61\nBob,35,170,80\n")
    ),
    Case("a logarithm of zero", f"{FIT} --log weight -o run", changed("75.5", "0")),
    Case("a name twice", f"{FIT} -o run", changed("Cid", "Bob")),
    Case("no covariate for a row", f"{FIT} -o run", changed("Cid,40", "Cid,")),
    Case("no such day", f"{FIT} -o run", text("name,age,x\nAnn,2024-02-28,1\nBob,2024-02-30,2\n")),
    Case("no group for a row", "fit data.csv --covariate age --group name -o run", changed("Cid", "")),
    Case("a single row", f"{FIT} -o run", text("name,age,height\nAnn,31,170\n")),
    Case("rows out of order", f"{FIT} --sequential -o run", changed("Cid,40", "Cid,30")),
    Case("all covariates alike", f"{FIT} -o run", text("name,age,height\nAnn,31,170\nBob,31,180\n")),
    Case(
        "no place on the globe",
        "fit data.csv --covariate age,weight --metric haversine --id name -o run",
        changed("44", "444"),
    ),
    Case("too many rows for a dense decay", "fit data.csv --covariate t --beta 1 -o run", little_memory),
    Case("nothing said of the rows", "fit data.csv --id name -o run", good),
    Case("an unknown value of an option", f"{FIT} --decay gauss -o run", good),
    Case("an unknown option", f"{FIT} --deacy window -o run", good),
    Case("a negative rate", f"{FIT} --beta -1 -o run", good),
    Case("a parameter of another decay", f"{FIT} --decay window --beta 1 -o run", good),
    Case("a decay for the IBP", f"{FIT} --prior ibp --decay window -o run", good),
    Case("an option of another prior", f"{FIT} --prior dibp --c0 2 -o run", good),
    Case("a published sampler for another prior", f"{FIT} --prior aibd --schedule paper -o run", good),
    Case("no draws", f"{FIT} --draws 0 -o run", good),
    Case("no folder named", FIT, good),
    Case("a file in place of a folder", f"{FIT} -o run", a_file_called_run),
    Case("a folder of something else", f"{FIT} -o run", a_foreign_folder),
    Case("a run that is there already", f"{FIT} -o run", with_run),
    Case("another model on resuming", f"{FIT}{DRAW} --alpha 2 -o run --resume", with_run),
    Case(
        "another table on resuming",
        f"{FIT}{DRAW} -o run --resume",
        lambda s: (s.run(), s.data(GOOD.replace("182", "183"))),
    ),
    Case("a run that is being written", f"{FIT}{DRAW} -o run --resume", a_run_in_use),
    Case("no such run", "impute rnu", good),
    Case("no run in the folder", "impute run", a_foreign_folder),
    Case("a damaged run", "summary run", a_damaged_part),
    Case("a changed table in a run", "impute run", a_changed_table),
    Case("a run without its table", "impute run", no_table),
    Case("more draws than there are", "impute run --draws 9", with_run),
    Case(
        "a new table without the covariate",
        "transform run new.csv",
        lambda s: (s.run(), s.data("height\n170\n", "new.csv")),
    ),
    Case(
        "dates where the fit had numbers",
        "transform run new.csv",
        lambda s: (s.run(), s.data("age,height\n2024-01-31,170\n", "new.csv")),
    ),
    Case("an unknown format", "impute run -o c.xlsx", with_run),
    Case("no folder to write to", "impute run -o no/c.csv", with_run),
    Case("a path that cannot be written", "impute run -o c.csv", a_folder_called_c, 1),
    Case("a full disk while sampling", f"{FIT}{DRAW} -o run", a_full_disk, 1),
    Case("a full disk while writing", "impute run -o c.csv", a_full_device, 1),
    Case("too little memory", f"{FIT} -o run", no_memory, 1),
]


@pytest.fixture(scope="module")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("data.csv").write_text(GOOD)
        result = CliRunner().invoke(main, shlex.split(f"{FIT}{DRAW} -o run"))
    assert result.exit_code == 0, result.output
    return folder / "run"


def error_of(case: Case, run: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the error line of a case, with the checks that every case must pass."""
    monkeypatch.chdir(folder)
    with monkeypatch.context() as patch, contextlib.ExitStack() as opened:
        case.setting(Situation(patch, run, opened))
        result = CliRunner().invoke(main, shlex.split(case.command), prog_name="ddibp")
    assert result.exit_code == case.status, (result.output, result.exception)
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    *_, last = result.stderr.strip().splitlines()
    assert last.startswith("Error: ")
    return last


def documented() -> dict[str, tuple[str, str, int]]:
    rows = re.findall(
        r"^\| (.+?) \| `(.+?)` \| `(.+?)` \| (\d) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return {what: (command, message, int(status)) for what, command, message, status in rows}


def test_the_page_lists_these_cases_and_no_others():
    assert list(documented()) == [case.what for case in CASES]
    assert len(CASES) >= 25


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_the_error_is_the_one_on_the_page(case, tiny_run, tmp_path, monkeypatch):
    message = error_of(case, tiny_run, tmp_path, monkeypatch)
    assert documented()[case.what] == (f"ddibp {case.command.replace(DRAW, '')}", message, case.status)
