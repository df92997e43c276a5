"""Random streams: every entry point takes an int, a SeedSequence or a Generator; nothing global is touched."""

from __future__ import annotations

import hashlib
import math
from typing import Any, TypeAlias

import numpy as np

RandomState: TypeAlias = "int | np.integer[Any] | np.random.SeedSequence | np.random.Generator | None"


def as_generator(rng: RandomState, name: str = "rng") -> np.random.Generator:
    """Return a Generator: the given one itself, or a fresh one from a seed (``None``: from the system)."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not (rng is None or isinstance(rng, (int, np.integer, np.random.SeedSequence))):
        raise TypeError(
            f"{name} must be None, a non-negative int, a numpy SeedSequence or a numpy Generator, got {rng!r}."
        )
    if isinstance(rng, (int, np.integer)) and rng < 0:
        raise ValueError(f"{name} must be a non-negative int, got {rng!r}.")
    return np.random.default_rng(rng)


def side_stream(rng: np.random.Generator) -> np.random.Generator:
    """Return a stream that follows from the state of another one, which stays as it is."""
    key = int.from_bytes(hashlib.sha256(repr(rng.bit_generator.state).encode()).digest()[:8], "little")
    return np.random.default_rng(key)


def accepts(rng: np.random.Generator, log_ratio: float) -> bool:
    """Return whether a Metropolis-Hastings proposal with this log ratio is accepted."""
    return log_ratio >= 0.0 or (log_ratio > -math.inf and rng.random() < math.exp(log_ratio))
