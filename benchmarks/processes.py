"""Fresh processes of one thread, and the memory that a process has needed."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_python(code: str, *arguments: str, **environment: str) -> Any:
    """Run code in a fresh process of one thread and return what the last line of its output says in JSON."""
    command = [sys.executable, "-c", code, *arguments]
    settings = os.environ | dict.fromkeys(THREADS, "1") | environment
    done = subprocess.run(command, cwd=ROOT, env=settings, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def peak_gib() -> float:
    """Return the most memory that this process has had, in GiB."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss may be that of the process that started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)
