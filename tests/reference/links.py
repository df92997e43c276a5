"""The dd-IBP by brute force: every owner and every one of the N^N link vectors, walks followed step by step.

A dish is taken by row i when i owns it or the walk i → c_i → … comes to its owner; the owner's own link has no effect.
"""

import math
from itertools import product

import numpy as np


def reaches(i, n, c):
    """Whether the walk i → c_i → c_{c_i} → … comes to n. A row reaches itself."""
    for _ in range(len(c)):
        if i == n:
            return True
        i = c[i]
    return i == n


def reaching(n, c):
    """The column z of a dish owned by n: z_i = 1 if i reaches n."""
    return tuple(int(reaches(i, n, c)) for i in range(len(c)))


def link_vectors(a):
    """Every link vector of positive probability with its probability Π_i a_{i c_i}."""
    for c in product(range(len(a)), repeat=len(a)):
        p = math.prod(float(a[i][c[i]]) for i in range(len(a)))
        if p > 0:
            yield c, p


def patterns(N):
    """The 2^N - 1 columns that are not zero."""
    return [z for z in product((0, 1), repeat=N) if any(z)]


def pattern_rates(a, h, alpha=1.0):
    """ρ_z = Σ_n α/h_n Σ_c Π_i a_{i c_i} 1[owner n and links c give z], for every z ≠ 0."""
    a = np.asarray(a).tolist()
    rates = dict.fromkeys(patterns(len(a)), 0.0)
    for c, p in link_vectors(a):
        for n in range(len(a)):
            rates[reaching(n, c)] += alpha / h[n] * p
    return {z: float(rate) for z, rate in rates.items()}


def causes_law(z, a, h):
    """P(owner = n, links = c | z) as a dict with keys (n, c); n ranges over the rows that have the feature."""
    a = np.asarray(a).tolist()
    z = tuple(int(x) for x in z)
    weights = {(n, c): p / h[n] for c, p in link_vectors(a) for n in range(len(a)) if reaching(n, c) == z}
    total = sum(weights.values())
    return {cause: float(w / total) for cause, w in weights.items()}


def owner_law(z, a, h):
    """P(owner = n | z) for n = 0 … N-1."""
    law = np.zeros(len(z))
    for (n, _), p in causes_law(z, a, h).items():
        law[n] += p
    return law


def reach_probabilities(a):
    """P[i, j, n] = P(i and j reach n); i = j gives P(i reaches n)."""
    a = np.asarray(a).tolist()
    N = len(a)
    P = np.zeros((N, N, N))
    for c, p in link_vectors(a):
        for n in range(N):
            z = np.array(reaching(n, c))
            P[:, :, n] += p * np.outer(z, z)
    return P


def expected_sharing(a, h):
    """S_ij = Σ_n P(i and j reach n) / h_n, so that E[Σ_k z_ik z_jk] = α S_ij."""
    return reach_probabilities(a) @ (1 / np.asarray(h))
