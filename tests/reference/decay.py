"""From distances to proximities, by the definitions of the paper.

`h_i = Σ_j f(d_ij)` (with j = i) and `a_ij = f(d_ij) / h_i`. An infinite distance is never crossed: f(∞) = 0.
"""

import math

import numpy as np


def constant():
    """f(d) = 1."""
    return lambda _: 1.0


def exponential(beta):
    """f(d) = exp(-β d)."""
    return lambda d: math.exp(-beta * d)


def logistic(beta, nu):
    """f(d) = 1 / (1 + exp(β d - ν))."""
    return lambda d: 1 / (1 + math.exp(min(beta * d - nu, 700.0)))


def window(nu):
    """f(d) = 1[d < ν]."""
    return lambda d: 1.0 if d < nu else 0.0


def distances(t):
    """d_ij = |t_i - t_j| for covariates on a line, or the Euclidean distance of the rows of t."""
    t = np.asarray(t, dtype=float).reshape(len(t), -1)
    return np.array([[math.dist(u, v) for v in t] for u in t])


def sequential(D):
    """d_ij = ∞ for j > i: nobody links to a later row. Ties in a covariate keep the order of the rows."""
    return np.array([[math.inf if j > i else d for j, d in enumerate(row)] for i, row in enumerate(D)])


def proximity(D, f):
    """The pair (a, h): a_ij = f(d_ij) / h_i and h_i = Σ_j f(d_ij)."""
    F = np.array([[0.0 if math.isinf(d) else f(d) for d in row] for row in D])
    h = F.sum(axis=1)
    return F / h[:, None], h
