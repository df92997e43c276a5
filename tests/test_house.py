"""House rules that a program can check: cached kernels, lazy imports, file lengths, compiled equals interpreted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ddibp

ROOT = Path(ddibp.__file__).parent

CHAIN = """
import numpy as np
from ddibp import DDIBP, DHBP, Exponential, IBP, sharing
t = np.array([0.0, 0.3, 1.0, 2.2, 2.3])
for sequential in (False, True):
    prior = DDIBP(Exponential(1.0), alpha=2.0, sequential=sequential)
    rng = np.random.default_rng(7)
    for sparse in (False, True):
        Z = prior.sample(t, rng=rng, sparse=sparse)
        print((Z.toarray() if sparse else Z).astype(int).tolist())
    Z = prior.sample(t, rng=3)
    causes = prior.sample_causes(Z, t, rng=rng)
    print(causes.owners.tolist(), causes.links.tolist(), [round(float(x), 9) for x in prior.log_rate(Z, t)])
    for method in ("enumeration", "monte carlo"):
        S = prior.sharing(t, method=method, n_draws=20, rng=rng).mean()
        print(S.round(9).tolist())
print(IBP(2.0).sample(5, rng=1).astype(int).tolist())
for coupling in ("customer", "dish"):
    print(DHBP(Exponential(1.0), 3.0, coupling=coupling).sample(t, rng=1).astype(int).tolist())
"""


def run(code, **environment):
    env = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_interpreted_equals_compiled_draw_for_draw():
    assert run(CHAIN, NUMBA_DISABLE_JIT="1") == run(CHAIN)


def test_an_edited_helper_in_another_file_is_noticed(tmp_path):
    """A kernel compiled and cached in one process must not survive an edit of the helper that it calls."""
    package = tmp_path / "ddibp"
    package.mkdir()
    for name in ("_kernel.py",):
        (package / name).write_text((ROOT / name).read_text())
    (package / "__init__.py").write_text("")
    (package / "outer.py").write_text(
        "from ddibp._kernel import kernel\nfrom ddibp.helper import helper\n"
        "@kernel\ndef outer(x):\n    return helper(x)\n"
    )
    code = "from ddibp.outer import outer; print(outer(1.0), outer.stats.cache_hits)"
    results = []
    for factor in ("2.0", "2.0", "3.0"):
        (package / "helper.py").write_text(
            f"from ddibp._kernel import kernel\n@kernel\ndef helper(x):\n    return {factor} * x\n"
        )
        results.append(run(code, PYTHONPATH=str(tmp_path), NUMBA_CACHE_DIR=str(tmp_path / "cache")).split())
    assert results[0] == ["2.0", results[0][1]]
    assert "{(float64,): 1}" not in results[0][1]
    assert results[1][0] == "2.0"
    assert "1" in results[1][-1]
    assert results[2][0] == "3.0"


def test_importing_costs_next_to_nothing():
    code = "import sys, ddibp; print(sorted({'numpy', 'scipy', 'numba', 'matplotlib'} & set(sys.modules)))"
    assert run(code).strip() == "[]"


def test_describing_a_model_compiles_nothing():
    code = (
        "import sys, ddibp; ddibp.DDIBP(ddibp.Exponential(0.1), alpha=ddibp.Gamma(1, 1));"
        "print(sorted({'scipy', 'numba', 'matplotlib'} & set(sys.modules)))"
    )
    assert run(code).strip() == "[]"


def test_public_names_exist_and_are_listed():
    for name in ddibp.__all__:
        assert getattr(ddibp, name) is not None
    assert sorted(ddibp.__all__) == dir(ddibp)


def test_files_are_a_few_hundred_lines_at_most():
    for path in ROOT.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 500, path
