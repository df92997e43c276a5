"""The linear-Gaussian likelihood: X = ZW + ε, W ~ N(0, σ_w²), ε ~ N(0, σ_x²), NaN in X is missing.

With W summed out the columns of X are independent N(0, σ_x² I + σ_w² Z Z'); a missing entry is left out of its column.
"""

import math

import numpy as np


def normal_logpdf(x, C):
    """log N(x; 0, C) for one vector and a stack of covariances (…, n, n)."""
    _, logdet = np.linalg.slogdet(C)
    shape = (*C.shape[:-2], len(x), 1)
    solved = np.linalg.solve(C, np.broadcast_to(x[:, None], shape))[..., 0]
    return -0.5 * (len(x) * math.log(2 * math.pi) + logdet + solved @ x)


def covariance(gram, sigma_x, sigma_w):
    """σ_x² I + σ_w² Z Z', given Z Z' (or a stack of them)."""
    return sigma_x**2 * np.eye(gram.shape[-1]) + sigma_w**2 * gram


def log_marginal_of_gram(X, gram, sigma_x, sigma_w):
    """log p(X | Z, σ_x, σ_w) for a stack of matrices Z Z' of shape (…, N, N)."""
    C = covariance(gram, sigma_x, sigma_w)
    total = np.zeros(gram.shape[:-2])
    for x in X.T:
        o = np.flatnonzero(~np.isnan(x))
        total = total + normal_logpdf(x[o], C[..., o[:, None], o])
    return total


def log_marginal(X, Z, sigma_x, sigma_w):
    """log p(X | Z, σ_x, σ_w), W summed out: the sum over the columns of X of log N(x; 0, σ_x² I + σ_w² Z Z')."""
    Z = np.asarray(Z, dtype=float)
    return float(log_marginal_of_gram(X, Z @ Z.T, sigma_x, sigma_w))


def log_collapsed(X, Z, sigma_x, sigma_w):
    """The same for a complete X, as the paper writes it, with H = Z'Z + (σ_x²/σ_w²) I.

    -(NM/2) log 2π - (N-K)M log σ_x - KM log σ_w - (M/2) log|H| - tr(X'(I - Z H^{-1} Z')X) / (2σ_x²).
    """
    (N, M), K = X.shape, Z.shape[1]
    H = Z.T @ Z + (sigma_x / sigma_w) ** 2 * np.eye(K)
    ZX = Z.T @ X
    quadratic = np.sum(X * X) - np.sum(ZX * np.linalg.solve(H, ZX))
    return float(
        -0.5 * N * M * math.log(2 * math.pi)
        - (N - K) * M * math.log(sigma_x)
        - K * M * math.log(sigma_w)
        - 0.5 * M * np.linalg.slogdet(H)[1]
        - quadratic / (2 * sigma_x**2)
    )


def log_given_weights(X, Z, W, sigma_x):
    """log p(X | Z, W, σ_x) of the observed entries."""
    R = (X - Z @ W)[~np.isnan(X)]
    return float(-0.5 * len(R) * math.log(2 * math.pi * sigma_x**2) - np.sum(R**2) / (2 * sigma_x**2))


def weights_posterior(X, Z, sigma_x, sigma_w):
    """Mean (K, M) and covariances (M, K, K) of W given Z and the observed entries.

    Column m of W is N(H^{-1} Z_o' x_o, σ_x² H^{-1}), H = Z_o'Z_o + (σ_x²/σ_w²) I, o the rows observed in column m.
    """
    Z = np.asarray(Z, dtype=float)
    K, M = Z.shape[1], X.shape[1]
    mean, cov = np.zeros((K, M)), np.zeros((M, K, K))
    for m, x in enumerate(X.T):
        o = ~np.isnan(x)
        H = Z[o].T @ Z[o] + (sigma_x / sigma_w) ** 2 * np.eye(K)
        mean[:, m] = np.linalg.solve(H, Z[o].T @ x[o])
        cov[m] = sigma_x**2 * np.linalg.inv(H)
    return mean, cov


def signal_mean(X, gram, sigma_x, sigma_w):
    """E[ZW | X, Z] for a stack of matrices Z Z': σ_w² (ZZ')_{·o} C_oo^{-1} x_o for every column of X, o observed."""
    C = covariance(gram, sigma_x, sigma_w)
    mean = np.zeros((*gram.shape[:-1], X.shape[1]))
    for m, x in enumerate(X.T):
        o = np.flatnonzero(~np.isnan(x))
        shape = (*gram.shape[:-2], len(o), 1)
        solved = np.linalg.solve(C[..., o[:, None], o], np.broadcast_to(x[o, None], shape))
        mean[..., m] = sigma_w**2 * (gram[..., :, o] @ solved)[..., 0]
    return mean


def draw_weights(X, Z, sigma_x, sigma_w, rng):
    """A draw of W (K, M) given Z and the observed entries of X."""
    mean, cov = weights_posterior(X, Z, sigma_x, sigma_w)
    columns = [w + np.linalg.cholesky(S) @ rng.standard_normal(len(w)) for w, S in zip(mean.T, cov, strict=True)]
    return np.array(columns).reshape(mean.T.shape).T


def draw_data(Z, M, sigma_x, sigma_w, rng):
    """A draw of X (N, M) given Z."""
    W = sigma_w * rng.standard_normal((Z.shape[1], M))
    return Z @ W + sigma_x * rng.standard_normal((len(Z), M))


def impute(X, missing, Z, sigma_x, sigma_w, rng):
    """X with its missing entries redrawn: W given the completed X, then x_im ~ N(z_i w_m, σ_x²)."""
    W = draw_weights(X, Z, sigma_x, sigma_w, rng)
    return np.where(missing, Z @ W + sigma_x * rng.standard_normal(X.shape), X)


def metropolis_sigma_x(X, Z, sigma_x, sigma_w, log_prior, step, rng):
    """σ_x by a random walk on log σ_x; log_prior is the log density of σ_x, the Jacobian of the logarithm is σ_x."""

    def log_target(sigma):
        return log_collapsed(X, Z, sigma, sigma_w) + log_prior(sigma) + math.log(sigma)

    proposal = sigma_x * math.exp(step * rng.standard_normal())
    accept = math.log(1 - rng.random()) < log_target(proposal) - log_target(sigma_x)
    return proposal if accept else sigma_x


def max_log_marginal(X, sigma_x):
    """A bound on log p(X | Z, σ_x, σ_w) over every Z and σ_w: its supremum over all covariances C ≥ σ_x² I.

    Columns with the same rows observed share C. With s the eigenvalues of their mean x x', the best C has the same
    eigenvectors and the eigenvalues c = max(s, σ_x²): the bound is -(M/2) Σ (log 2πc + s/c).
    """
    bound = 0.0
    seen = ~np.isnan(X)
    for rows in {tuple(column) for column in seen.T}:
        same = [m for m in range(X.shape[1]) if tuple(seen[:, m]) == rows]
        x = X[:, same][list(rows)]
        s = np.maximum(np.linalg.eigvalsh(x @ x.T / len(same)), 0) if len(x) else np.zeros(0)
        c = np.maximum(s, sigma_x**2)
        bound -= 0.5 * len(same) * float(np.sum(np.log(2 * math.pi * c) + s / c))
    return bound
