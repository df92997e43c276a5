"""What every experiment needs: fits that are kept as they finish and spread over cores, tables, pictures, a page."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import inspect
import json
import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ddibp import _check
from ddibp._version import __version__

Row = Mapping[str, Any]
_ROLE = re.compile(":math:`([^`]*)`")


class Study:
    """One experiment: where it writes, its seed and size, and what its page says.

    Attributes
    ----------
    name, out : str, Path
        The experiment and its folder.
    seed : int
        Fixes all numbers.
    quick : bool
        Whether this is the small version.
    """

    def __init__(self, name: str, out: Path, *, seed: int = 0, quick: bool = False, n_jobs: int | None = None) -> None:
        self.name, self.out = name, out
        self.seed = _check.count("seed", seed)
        self.quick, self.n_jobs = quick, n_jobs
        self.title, self.about = name, ""
        self._parts: list[str] = []
        self._began = time.perf_counter()
        self._seconds_before = 0.0
        out.mkdir(parents=True, exist_ok=True)

    def stream(self, *key: Any) -> np.random.SeedSequence:
        """Return the random numbers of a part of the experiment, which depend on the seed and on the key alone."""
        digest = hashlib.sha256(json.dumps([self.name, *map(str, key)]).encode()).digest()
        return np.random.SeedSequence([self.seed, *np.frombuffer(digest[:16], np.uint32).tolist()])

    def map(self, work: Callable[..., Row], tasks: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return ``work(**task)`` for every task, with the task itself; those done before are read, not done again.

        What ``work`` returns must be plain numbers, texts and lists. The source of its module is part of the key, so
        that results of an older version do not count.
        """
        from joblib import Parallel, delayed, parallel_config

        tasks = [dict(task) for task in tasks]
        folder = self.out / "fits"
        folder.mkdir(exist_ok=True)
        source = hashlib.sha256(inspect.getsource(inspect.getmodule(work) or work).encode()).hexdigest()
        files = [folder / f"{work.__name__}-{self._key(source, task)}.json" for task in tasks]
        missing = [i for i, file in enumerate(files) if not file.exists()]
        alone = self.n_jobs in (None, 1)
        with contextlib.nullcontext() if alone else parallel_config(backend="loky", inner_max_num_threads=1):
            Parallel(n_jobs=self.n_jobs or 1, batch_size=1)(delayed(_do)(work, tasks[i], files[i]) for i in missing)
        return [{**task, **json.loads(file.read_text())} for task, file in zip(tasks, files, strict=True)]

    def _key(self, source: str, task: Mapping[str, Any]) -> str:
        text = json.dumps([source, self.seed, __version__, task], sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    # -- what is written -----------------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Put a paragraph on the page."""
        self._parts.append(inspect.cleandoc(text))

    def table(self, name: str, rows: Sequence[Row], *, shown: Sequence[str] | None = None) -> None:
        """Write rows to ``name.csv``, and columns of it (all by default) onto the page."""
        columns = list(dict.fromkeys(key for row in rows for key in row))
        with open(self.out / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows([{key: _exact(value) for key, value in row.items()} for row in rows])
        shown = columns if shown is None else list(shown)
        lines = ["| " + " | ".join(shown) + " |", "|" + " --- |" * len(shown)]
        lines += ["| " + " | ".join(_short(row.get(key, "")) for key in shown) + " |" for row in rows]
        self._parts.append("\n".join(lines))

    def figure(self, figure: Any, name: str, caption: str) -> None:
        """Write a picture as PNG and SVG, and put it onto the page."""
        import matplotlib

        figure.savefig(self.out / f"{name}.png", dpi=110, bbox_inches="tight", metadata={"Software": None})
        with matplotlib.rc_context({"svg.hashsalt": self.name}):
            figure.savefig(self.out / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
        self._parts.append(f"![{caption}]({name}.png)\n\n*{caption}*")

    def finish(self) -> Path:
        """Write the page and return its path."""
        import numba
        import scipy

        command = f"ddibp reproduce {self.name}{' --quick' if self.quick else ''} --seed {self.seed}"
        versions = f"ddibp {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        versions += f"SciPy {scipy.__version__}, Numba {numba.__version__}"
        seconds = self._time_so_far(time.perf_counter() - self._began)
        foot = f"`{command}`, {versions}, {os.cpu_count()} cores, {_duration(seconds)} in all."
        if self.quick:
            foot += " This is the quick version: too few fits to mean anything."
        page = self.out / "index.md"
        text = "\n\n".join([f"# {self.title}", inspect.cleandoc(self.about), *self._parts, f"---\n\n{foot}"])
        page.write_text(_ROLE.sub(r"$\1$", text) + "\n", encoding="utf-8")
        return page

    def _time_so_far(self, seconds: float) -> float:
        """Add the seconds of this run to those of interrupted ones."""
        record = self.out / "fits" / "seconds.json"
        if not record.parent.exists():
            return seconds
        before = json.loads(record.read_text()) if record.exists() else {}
        if before.get("quick") == self.quick:
            seconds += before["seconds"]
        record.write_text(json.dumps({"quick": self.quick, "seconds": seconds}))
        return seconds


def _do(work: Callable[..., Row], task: Mapping[str, Any], file: Path) -> None:
    begin = time.process_time()
    result = {key: _plain(value) for key, value in work(**task).items()}
    result.setdefault("cpu_seconds", round(time.process_time() - begin, 3))
    draft = file.with_name(f".{os.getpid()}-{file.name}")
    draft.write_text(json.dumps(result))
    os.replace(draft, file)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def _exact(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Return the mean of independent numbers and its standard error (NaN for one number)."""
    x = np.array(list(values), dtype=float)
    return float(x.mean()), float(x.std(ddof=1) / np.sqrt(x.size)) if x.size > 1 else float("nan")
