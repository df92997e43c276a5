"""Compilation of kernels by Numba with an on-disk cache that notices every edit that matters.

Numba keys its cache on the file that *defines* a function and therefore runs stale machine code after a helper in
another file has changed. Here the key is a digest of that file and of all files of the package that it imports,
directly or through others.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import caching

F = TypeVar("F", bound=Callable[..., Any])

_ROOT = Path(__file__).parent


@functools.cache
def source_digest(path: Path) -> str:
    """Return a digest of a file of the package and of all files of the package that it depends on."""
    digest = hashlib.sha256()
    for source in sorted(_with_imports(path)):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _with_imports(path: Path) -> set[Path]:
    found, waiting = {path}, [path]
    while waiting:
        fresh = set(_imports(waiting.pop())) - found
        found |= fresh
        waiting += fresh
    return found


@functools.cache
def _imports(path: Path) -> tuple[Path, ...]:
    """Return the files of the package that a file imports."""
    return tuple(
        candidate
        for name in _imported_names(ast.parse(path.read_bytes()))
        for candidate in (_ROOT.joinpath(*name.split(".")[1:]).with_suffix(".py"),)
        if candidate.is_file()
    )


def _imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("ddibp."))
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "ddibp":
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


_listeners: list[Callable[[], None]] = []


@contextlib.contextmanager
def announcing(say: Callable[[], None]) -> Iterator[None]:
    """Call ``say`` once, before the first kernel that is not in the cache is compiled."""
    _listeners.append(say)
    try:
        yield
    finally:
        if say in _listeners:
            _listeners.remove(say)


class _PackageCache(caching.FunctionCache):  # type: ignore[misc]
    """Numba's function cache, stamped with the digest of all sources that a function may depend on."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = caching.IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=source_digest(Path(function.__code__.co_filename)),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code from the disk, or None, after which Numba compiles."""
        found = super().load_overload(sig, target_context)
        if found is None:
            while _listeners:
                _listeners.pop()()
        return found


# Sums may be taken in any order, so that they use vector instructions; infinities and NaN keep their meaning.
_FAST_SUMS = {"reassoc", "contract", "nsz"}


def kernel(function: F) -> F:
    """Compile ``function`` on first use, without the interpreter lock, cached on disk."""
    return _compile(function, False)


def fast_sums_kernel(function: F) -> F:
    """Compile ``function`` like `kernel`, and let its sums be reordered."""
    return _compile(function, _FAST_SUMS)


def _compile(function: F, fastmath: Any) -> F:
    compiled = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)
    if not numba.config.DISABLE_JIT:
        compiled._cache = _PackageCache(function)
    return cast(F, compiled)
