"""Mistakes put into the library on purpose: a module built anew from its source with some of its text replaced."""

from __future__ import annotations

import inspect
import re
import sys
import types

# Compiled anew and not cached: the cache belongs to the files of the package.
_IMPORT = re.compile(r"^from ddibp\._kernel import .*$", flags=re.MULTILINE)
_COMPILE = "from numba import njit; kernel = fast_sums_kernel = njit(nogil=True, error_model='numpy')"


def mutated(module, *edits):
    """Return a copy of a module in which each (old, new) of ``edits`` has been replaced, everywhere it occurs."""
    source = inspect.getsource(module)
    for old, new in edits:
        assert old in source, f"{module.__name__} no longer contains what this mistake replaces:\n{old}"
        source = source.replace(old, new)
    copy = types.ModuleType(f"mutated_{module.__name__.rsplit('.', 1)[1]}")
    exec(compile(_IMPORT.sub(_COMPILE, source), copy.__name__, "exec"), copy.__dict__)
    return copy


def put_in(monkeypatch, module, *edits):
    """Let the library use the copy wherever it refers to the module."""
    copy = mutated(module, *edits)
    places = [
        (owner, name)
        for owner in list(sys.modules.values())
        if getattr(owner, "__name__", "").startswith("ddibp")
        for name, value in list(vars(owner).items())
        if value is module and owner.__name__ != module.__name__.rpartition(".")[0]
    ]
    assert places, f"nothing refers to {module.__name__}"
    for owner, name in places:
        monkeypatch.setattr(owner, name, copy)
