"""Run every case in its own process and write docs/benchmarks.md; `./run bench NAME ...` only prints those named."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from benchmarks import ground

HEAD = """# Benchmarks

Written by `./run bench`. Every case runs in a process of its own. "Seconds" is the best of three calls; the first call
also loads compiled kernels from the cache (compiling them, once per installation, is not counted here). Peak memory is
that of the whole process, interpreter and libraries included (about 0.15 GiB).

Measured with {versions}. Shared machines are noisy: read ratios, not digits.

"""
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def measure(name: str) -> dict[str, float | str]:
    """Return what one case prints about itself, from a fresh process."""
    code = f"from benchmarks import ground; ground.main({name!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def table(names: list[str]) -> str:
    """Return the measurements as a Markdown table, printing progress."""
    lines = ["| what | seconds | seconds, first call | peak memory | note |", "| --- | ---: | ---: | ---: | --- |"]
    for name in names:
        measure(name)  # fills the kernel cache, so that first calls below load kernels instead of compiling them
        m = measure(name)
        lines.append(
            f"| {ground.CASES[name].title} | {m['seconds']:.3g} | {m['first']:.3g} | {m['gib']:.2f} GiB | {m['note']} |"
        )
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    """Measure and write the page."""
    names = sys.argv[1:] or list(ground.CASES)
    unknown = set(names) - set(ground.CASES)
    if unknown:
        sys.exit(f"unknown case {', '.join(sorted(unknown))}; there are {', '.join(ground.CASES)}")
    text = table(names)
    if sys.argv[1:]:
        return
    import numba
    import numpy
    import scipy

    versions = f"Python {platform.python_version()}, NumPy {numpy.__version__}, SciPy {scipy.__version__}, "
    versions += f"Numba {numba.__version__}, {os.cpu_count()} cores, {platform.machine()}"
    PAGE.write_text(HEAD.format(versions=versions) + text + "\n")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
