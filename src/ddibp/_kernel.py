"""Compilation of kernels by Numba with an on-disk cache that notices every edit of the package.

Numba keys its cache on the file that *defines* a function and therefore runs stale machine code after a helper in
another file has changed. Here the key is a digest of all source files of the package.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import caching

F = TypeVar("F", bound=Callable[..., Any])


@functools.cache
def source_digest() -> str:
    """Return a digest of all Python files of the package."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _PackageCache(caching.FunctionCache):  # type: ignore[misc]
    """Numba's function cache, stamped with the digest of the whole package instead of one file."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = caching.IndexDataCacheFile(
            cache_path=self._cache_path, filename_base=self._impl.filename_base, source_stamp=source_digest()
        )


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
