"""Whether chains have converged, and how many independent draws theirs are worth.

Rank-normalised split R-hat, bulk and tail effective sample size as in Vehtari, Gelman, Simpson, Carpenter and Bürkner,
"Rank-normalization, folding, and localization", Bayesian Analysis 16 (2021).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

_LARGEST_RHAT = 1.01
_LEAST_ESS_PER_CHAIN = 100
_FEWEST_DRAWS = 4
_MOST_NAMED = 4


def rhat(draws: ArrayLike) -> float:
    """Return the larger of the rank-normalised split R-hat of the draws and of their distances from the median.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws)
        One number per draw.

    Returns
    -------
    float
        Near 1 where the chains agree; NaN for fewer than 4 draws, for constants, and where a draw is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(4, 500))
    >>> round(rhat(x), 3), round(rhat(x + np.arange(4)[:, None]), 3)
    (1.001, 1.537)
    """
    x = _checked(draws)
    if x is None or np.ptp(x) == 0.0:
        return math.nan
    halves = _halves(x)
    return max(_plain_rhat(_normalised(halves)), _plain_rhat(_normalised(np.abs(halves - np.median(halves)))))


def ess_bulk(draws: ArrayLike) -> float:
    """Return the effective sample size for the centre of the distribution.

    Examples
    --------
    >>> import numpy as np
    >>> round(ess_bulk(np.random.default_rng(0).normal(size=(4, 500))))
    2003
    """
    x = _checked(draws)
    return math.nan if x is None else _ess(_normalised(_halves(x)))


def ess_tail(draws: ArrayLike) -> float:
    """Return the smaller effective sample size of the 5% and the 95% quantile.

    Examples
    --------
    >>> import numpy as np
    >>> round(ess_tail(np.random.default_rng(0).normal(size=(4, 500))))
    2056
    """
    x = _checked(draws)
    if x is None:
        return math.nan
    return min(_ess(_halves((x <= quantile).astype(np.float64))) for quantile in np.quantile(x, [0.05, 0.95]))


def _checked(draws: ArrayLike) -> FloatArray | None:
    x = np.asarray(draws, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"draws must have the shape (n_chains, n_draws), got {x.shape}.")
    return x if x.shape[1] >= _FEWEST_DRAWS and np.isfinite(x).all() else None


def _halves(x: FloatArray) -> FloatArray:
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def _normalised(x: FloatArray) -> FloatArray:
    from scipy.special import ndtri

    _, places, counts = np.unique(x, return_inverse=True, return_counts=True)
    mean_ranks = np.cumsum(counts) - (counts - 1) / 2.0
    return np.asarray(ndtri((mean_ranks[places.reshape(x.shape)] - 0.375) / (x.size + 0.25)))


def _plain_rhat(x: FloatArray) -> float:
    if (np.ptp(x, axis=1) == 0.0).all():
        return math.inf if np.ptp(x) > 0.0 else math.nan
    n = x.shape[1]
    between = n * x.mean(axis=1).var(ddof=1)
    within = x.var(axis=1, ddof=1).mean()
    return math.sqrt((between / within + n - 1) / n)


def _ess(x: FloatArray) -> float:
    if np.ptp(x) < np.finfo(float).resolution:
        return float(x.size)
    n = x.shape[1]
    covariance = _autocovariance(x)
    variance = covariance[0] * n / (n - 1)
    correlation = 1.0 - (variance - covariance) / (covariance[0] + x.mean(axis=1).var(ddof=1))
    correlation[0] = 1.0
    # Geyer: in theory sums of two neighbours are positive and decrease, so noise begins where they do not.
    pairs = correlation[: 2 * (n // 2)].reshape(-1, 2).sum(axis=1)
    last = max((n - 3) // 2, 0)
    noise = np.flatnonzero(pairs[: last + 1] <= 0.0)
    end = int(noise[0]) if len(noise) else last
    rest = correlation[2 * end] if pairs[end] >= 0.0 else max(correlation[2 * end], 0.0)
    time = -1.0 + 2.0 * np.minimum.accumulate(pairs[:end]).sum() + rest
    return float(x.size / max(time, 1.0 / math.log10(x.size)))


def _autocovariance(x: FloatArray) -> FloatArray:
    n = x.shape[1]
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(x - x.mean(axis=1, keepdims=True), size, axis=1)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :n].mean(axis=0) / n)


@dataclass(frozen=True)
class ScalarDiagnostics:
    """Diagnostics of one number per draw.

    Attributes
    ----------
    mean, sd : float
        Posterior mean and standard deviation.
    rhat, ess_bulk, ess_tail : float
        See the functions of these names.
    """

    mean: float
    sd: float
    rhat: float
    ess_bulk: float
    ess_tail: float


@dataclass(frozen=True)
class MoveDiagnostics:
    """What became of one kind of move, over all chains and sweeps.

    Attributes
    ----------
    tried, accepted : int
        How often.
    time_share : float
        Share of the time of all moves.
    """

    tried: int
    accepted: int
    time_share: float


@dataclass(frozen=True, repr=False)
class Diagnostics:
    """Convergence of a run; prints as a table.

    Attributes
    ----------
    n_chains, n_draws : int
        What was looked at.
    scalars : dict of str to ScalarDiagnostics
        By name.
    moves : dict of str to MoveDiagnostics
        By name.
    warnings : tuple of str
        What is wrong and what to do, in sentences; empty if nothing is.
    """

    n_chains: int
    n_draws: int
    scalars: dict[str, ScalarDiagnostics]
    moves: dict[str, MoveDiagnostics]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as nested dictionaries of numbers and text."""
        return {**asdict(self), "warnings": list(self.warnings)}

    def __repr__(self) -> str:
        width = max(map(len, [*self.scalars, *self.moves, "move"]), default=0)
        lines = [f"{self.n_chains} chains of {self.n_draws} draws"]
        lines.append(f"{'':{width}}  {'mean':>10}  {'sd':>9}  {'R-hat':>6}  {'ESS bulk':>8}  {'ESS tail':>8}")
        for name, x in self.scalars.items():
            figures = f"{x.mean:10.5g}  {x.sd:9.4g}  {x.rhat:6.3f}  {x.ess_bulk:8.0f}  {x.ess_tail:8.0f}"
            lines.append(f"{name:{width}}  {figures if x.sd != 0.0 else f'{x.mean:10.5g}  never changes'}")
        if self.moves:
            lines.append(f"{'move':{width}}  {'tried':>10}  {'accepted':>9}  {'time':>6}")
            for name, m in self.moves.items():
                accepted = f"{m.accepted / m.tried:9.1%}" if m.tried else f"{'-':>9}"
                lines.append(f"{name:{width}}  {m.tried:10d}  {accepted}  {m.time_share:6.1%}")
        return "\n".join([*lines, *self.warnings])


def diagnose(
    scalars: Mapping[str, ArrayLike], moves: Mapping[str, tuple[int, int, float]] | None = None
) -> Diagnostics:
    """Return the diagnostics of several numbers.

    Parameters
    ----------
    scalars : mapping of str to array-like of shape (n_chains, n_draws)
        Draws by name.
    moves : mapping of str to (int, int, float), optional
        Times tried, times accepted, and seconds, of every kind of move.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(4, 500))
    >>> diagnose({"alpha": x, "beta": 0 * x + 2}, {"flip": (8000, 2000, 1.5)})
    4 chains of 500 draws
                 mean         sd   R-hat  ESS bulk  ESS tail
    alpha   -0.028026          1   1.001      2003      2056
    beta            2  never changes
    move        tried   accepted    time
    flip         8000      25.0%  100.0%
    """
    draws = {name: np.asarray(x, dtype=np.float64) for name, x in scalars.items()}
    n_chains, n_draws = next(iter(draws.values())).shape
    table = {name: _of_scalar(x) for name, x in draws.items()}
    moves = moves or {}
    seconds = sum(move[2] for move in moves.values())
    shares = {n: MoveDiagnostics(t, a, s / seconds if seconds else math.nan) for n, (t, a, s) in moves.items()}
    return Diagnostics(n_chains, n_draws, table, shares, tuple(_warnings(table, n_chains, n_draws)))


def _of_scalar(x: FloatArray) -> ScalarDiagnostics:
    with np.errstate(invalid="ignore"):
        sd = float(x.std(ddof=1)) if x.size > 1 else math.nan
        return ScalarDiagnostics(float(x.mean()), 0.0 if np.ptp(x) == 0.0 else sd, rhat(x), ess_bulk(x), ess_tail(x))


def _warnings(table: Mapping[str, ScalarDiagnostics], n_chains: int, n_draws: int) -> list[str]:
    if n_draws < _FEWEST_DRAWS:
        return [f"There are {n_draws} draws per chain, too few to judge them: ask for at least draws={_FEWEST_DRAWS}."]
    found = []
    broken = [name for name, x in table.items() if not math.isfinite(x.mean)]
    if broken:
        found.append(f"{', '.join(broken)} is not finite in some draws: look at the data and the priors.")
    apart = sorted(((x.rhat, name) for name, x in table.items() if x.rhat > _LARGEST_RHAT), reverse=True)
    if apart:
        found.append(
            f"The chains disagree: R-hat is {_listed(apart, '.4g')}, and should be at most {_LARGEST_RHAT}. Ask for "
            "more tune and draws; if that does not help, the chains have found different explanations of the data."
        )
    wanted = _LEAST_ESS_PER_CHAIN * n_chains
    sizes = [(min(x.ess_bulk, x.ess_tail), name) for name, x in table.items()]
    few = sorted(pair for pair in sizes if pair[0] < wanted)
    if few:
        factor = wanted / few[0][0]
        found.append(
            f"There are few independent draws: the effective sample size is {_listed(few, '.0f')}, and should be at "
            f"least {wanted}. Ask for about draws={float(f'{n_draws * factor:.1e}'):.0f}."
        )
    return found


def _listed(figures: Sequence[tuple[float, str]], form: str) -> str:
    worst = ", ".join(f"{figure:{form}} for {name}" for figure, name in figures[:_MOST_NAMED])
    return worst + (f" (and bad for {len(figures) - _MOST_NAMED} more)" if len(figures) > _MOST_NAMED else "")
