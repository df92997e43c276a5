"""Run every case in its own process and write docs/benchmarks.md; `./run bench NAME ...` only prints those named."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import time
from types import ModuleType

from benchmarks import ground, mixing, priors, speed, start
from benchmarks.processes import ROOT, run_python
from benchmarks.tables import Rows, markdown

HEAD = """# Benchmarks

Written by `./run bench`. Every case runs in a process of its own with one thread; `./run bench NAME ...` repeats single
ones. Compiling kernels, once per installation, is not counted except where it is named.

Measured with {versions}. Shared machines are noisy: read ratios, not digits. Times of single moves, sweeps and chains
are processor time, which is the wall clock's on a machine that does nothing else.
"""
PAGE = ROOT / "docs" / "benchmarks.md"
KEPT = ROOT / ".bench"
MODULES = (ground, speed, mixing, priors, start)


def measure(module: ModuleType, name: str) -> Rows:
    """Return what one case finds in a fresh process.

    A whole run keeps every case until its page is written, so that an interrupted one goes on where it was.
    """
    kept = KEPT / f"{name}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    found = _measure(module, name)
    if KEPT.exists():
        kept.write_text(json.dumps(found))
    return found


def _measure(module: ModuleType, name: str) -> Rows:
    code = f"import json; from {module.__name__} import CASES; print(json.dumps(CASES[{name!r}]()))"
    for _ in range(getattr(module, "RUNS_FIRST", 0)):
        run_python(code)
    return run_python(code)


def sections(module: ModuleType, names: set[str]) -> list[str]:
    """Measure the named cases of a module; return its sections, printing progress."""
    found: Rows = {}
    for name in module.CASES:
        if name in names:
            begin = time.perf_counter()
            for table, rows in measure(module, name).items():
                found.setdefault(table, []).extend(rows)
            print(f"{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    return [
        f"## {module.TABLES[table].title}\n\n{module.TABLES[table].text}\n\n{markdown(rows)}\n"
        for table, rows in found.items()
    ]


def main() -> None:
    """Measure and write the page."""
    known = [name for module in MODULES for name in module.CASES]
    unknown = set(sys.argv[1:]) - set(known)
    if unknown:
        sys.exit(f"unknown case {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    names = set(sys.argv[1:] or known)
    if not sys.argv[1:]:
        KEPT.mkdir(exist_ok=True)
    texts = [text for module in MODULES for text in sections(module, names)]
    print("\n".join(texts))
    if sys.argv[1:]:
        return
    import numba
    import numpy
    import scipy

    versions = f"Python {platform.python_version()}, NumPy {numpy.__version__}, SciPy {scipy.__version__}, "
    versions += f"Numba {numba.__version__}, {os.cpu_count()} cores, {platform.machine()}"
    PAGE.write_text("\n".join([HEAD.format(versions=versions), *texts]), encoding="utf-8")
    shutil.rmtree(KEPT)
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
