"""Binary matrices up to the order of their columns: multisets of patterns, their enumeration and their prior.

The number of columns equal to z is Poisson(ρ_z), independently over z ≠ 0:
log P([Z]) = -Σ_z ρ_z + Σ_z n_z log ρ_z - Σ_z log n_z!.
"""

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from .links import patterns


def multisets(N, K_max):
    """Every multiset of non-zero patterns with at most K_max columns, as a sorted tuple of columns."""
    for K in range(K_max + 1):
        yield from combinations_with_replacement(patterns(N), K)


def multiset(Z):
    """The equivalence class of Z: its non-zero columns, sorted."""
    return tuple(sorted(tuple(int(x) for x in z) for z in np.asarray(Z).T if np.any(z)))


def matrix(columns, N):
    """The N×K matrix of a multiset."""
    return np.array(columns, dtype=int).reshape(len(columns), N).T


def log_prior(columns, rates):
    """log P([Z]) of one multiset under the rates ρ."""
    total = -sum(rates.values())
    for z, n in Counter(columns).items():
        total += n * math.log(rates[z]) - math.lgamma(n + 1) if rates[z] > 0 else -math.inf
    return total


def total_mass(rates, K_max):
    """Σ P([Z]) over the multisets of at most K_max columns; it must be P(Poisson(Σ_z ρ_z) ≤ K_max)."""
    N = len(next(iter(rates)))
    return sum(math.exp(log_prior(columns, rates)) for columns in multisets(N, K_max))


@dataclass(frozen=True)
class Enumeration:
    """All multisets of at most K_max columns: `counts[s, z]` = n_z, `gram[s]` = Z Z', `K[s]` columns."""

    patterns: tuple
    classes: list
    counts: np.ndarray
    gram: np.ndarray
    K: np.ndarray


@lru_cache(maxsize=4)
def enumerate_matrices(N, K_max):
    """Every multiset once, as arrays."""
    classes = list(multisets(N, K_max))
    patterns = tuple(columns[0] for columns in classes if len(columns) == 1)
    index = {z: p for p, z in enumerate(patterns)}
    counts = np.zeros((len(classes), len(patterns)), dtype=int)
    for s, columns in enumerate(classes):
        for z in columns:
            counts[s, index[z]] += 1
    outer = np.array([np.outer(z, z) for z in patterns])
    return Enumeration(patterns, classes, counts, np.tensordot(counts, outer, 1).astype(float), counts.sum(axis=1))
