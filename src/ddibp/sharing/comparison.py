r"""Numbers of shared features :math:`R_{ij} = \sum_k z_{ik} z_{jk}` under any prior that answers `sharing`."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp import _check
from ddibp._random import RandomState, as_generator
from ddibp.laws import SharingLaw

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SharingMatrix:
    """A matrix over pairs of rows with the method that computed it; NumPy functions take it as an array.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_rows)
        The matrix.
    method : str
        ``"closed form"``, ``"recursion"``, ``"enumeration"`` (all exact) or ``"monte carlo"``.
    standard_error : ndarray of shape (n_rows, n_rows) or None
        Monte Carlo standard errors; None where the values are exact.

    Examples
    --------
    >>> from ddibp import IBP, sharing
    >>> sharing.expected(IBP(2.0), 2)
    SharingMatrix of shape (2, 2) by closed form:
    [[2. 1.]
     [1. 2.]]
    """

    values: FloatArray
    method: str
    standard_error: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the matrix."""
        return self.values.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the values."""
        array = np.asarray(self.values, dtype=dtype)
        return array.copy() if copy else array

    def __getitem__(self, key: Any) -> Any:
        return self.values[key]

    def __repr__(self) -> str:
        error = "" if self.standard_error is None else f", largest standard error {self.standard_error.max():.2g}"
        return f"SharingMatrix of shape {self.shape} by {self.method}{error}:\n{self.values}"


def expected(
    prior: Any, covariates: Any, *, method: str = "auto", n_draws: int = 1000, rng: RandomState = 0
) -> SharingMatrix:
    r"""Return the expected number of shared features :math:`E[R_{ij}]` (:math:`E[R_i]` on the diagonal).

    Parameters
    ----------
    prior : IBP, DDIBP, DHBP or any prior that answers ``sharing``
        The prior.
    covariates : array-like, Proximity, or (for the IBP) a number of rows
        As for the prior's other methods.
    method, n_draws, rng
        For priors that offer a choice, see `DDIBP.sharing`: exact where possible, else Monte Carlo. The result tells.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import DDIBP, Exponential, sharing
    >>> sharing.expected(DDIBP(Exponential(1.0), alpha=2.0, sequential=True), np.arange(3.0))
    SharingMatrix of shape (3, 3) by recursion:
    [[2.         0.53788284 0.31169639]
     [0.53788284 2.         0.53788284]
     [0.31169639 0.53788284 2.        ]]
    """
    law = _law(prior, covariates, method, n_draws, rng)
    error = law.standard_error
    scale = law.mean()[0, 0] / float((law.weights * law.unit_means).sum(axis=0)[0, 0])
    return SharingMatrix(law.mean(), law.method, None if error is None else scale * error)


def limiting_fraction(
    prior: Any, covariates: Any, *, method: str = "auto", n_draws: int = 1000, rng: RandomState = 0
) -> SharingMatrix:
    r"""Return the limit of :math:`R_{ij}/R_i` as the mass grows: the share of i's features that j has too.

    For the dd-IBP and the IBP the limit is a constant, :math:`S_{ij}/S_{ii}`. For the dHBP with ``coupling="customer"``
    it is random with two values; this is its mean, and `SharingLaw.limiting_fractions` has values and probabilities.

    Parameters
    ----------
    prior, covariates, method, n_draws, rng
        As in `expected`. Standard errors take numerator and denominator as independent, which overstates them.

    Examples
    --------
    >>> from ddibp import IBP, sharing
    >>> sharing.limiting_fraction(IBP(), 2).values
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    law = _law(prior, covariates, method, n_draws, rng)
    values, probabilities = law.limiting_fractions()
    mean = np.asarray((values * probabilities).sum(axis=0))
    if law.standard_error is None:
        return SharingMatrix(mean, law.method)
    own = np.diagonal(law.unit_means[0])[:, None]
    own_error = np.diagonal(law.standard_error)[:, None]
    error = np.hypot(law.standard_error, mean * own_error) / own
    np.fill_diagonal(error, 0.0)
    return SharingMatrix(mean, law.method, error)


def simulate(prior: Any, covariates: Any, n_draws: int = 1000, rng: RandomState = None) -> NDArray[np.int64]:
    r"""Draw feature matrices and count shared features; return :math:`R_{ij}` of shape (n_draws, n_rows, n_rows).

    Parameters
    ----------
    prior, covariates
        As in `expected`.
    n_draws : int
        Number of independent draws.
    rng : int, SeedSequence or Generator, optional
        Seed or stream.

    Examples
    --------
    >>> from ddibp import IBP, sharing
    >>> R = sharing.simulate(IBP(3.0), 2, n_draws=2000, rng=0)
    >>> R.shape, R.mean(axis=0).round(1)
    ((2000, 2, 2), array([[3. , 1.5],
           [1.5, 3. ]]))
    """
    n_draws = _check.count("n_draws", n_draws, low=1)
    generator = as_generator(rng)
    if hasattr(prior, "proximity") and getattr(prior, "permutation", "rows") == "rows":
        covariates = prior.proximity(covariates)  # one for all draws; an order that is drawn has one for every draw
    counts = []
    for _ in range(n_draws):
        Z = prior.sample(covariates, rng=generator).astype(np.float64)
        counts.append((Z @ Z.T).astype(np.int64))
    return np.stack(counts)


def _law(prior: Any, covariates: Any, method: str, n_draws: int, rng: RandomState) -> SharingLaw:
    if not callable(getattr(prior, "sharing", None)):
        raise TypeError(f"prior must be an IBP, DDIBP, DHBP or another prior that answers sharing(), got {prior!r}.")
    if "method" in inspect.signature(prior.sharing).parameters:
        law = prior.sharing(covariates, method=method, n_draws=n_draws, rng=rng)
    elif method not in ("auto", "closed form"):
        raise ValueError(f"method must be 'auto' for {type(prior).__name__}, whose sharing has a closed form.")
    else:
        law = prior.sharing(covariates)
    assert isinstance(law, SharingLaw)
    return law
