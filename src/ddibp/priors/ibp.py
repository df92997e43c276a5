r"""The Indian buffet process: an exchangeable law over binary matrices with an unbounded number of columns.

A column with m active rows out of N appears at the rate :math:`\rho_z = \alpha\,(m-1)!\,(N-m)!/N!`, so that

.. math:: \log P([Z]) = -\alpha H_N + \sum_k \log \rho_{z_k} - \sum_z \log n_z!, \qquad H_N = \sum_{i \le N} 1/i.

References
----------
Griffiths and Ghahramani (2011), The Indian buffet process, Journal of Machine Learning Research 12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import NDArray

from ddibp import _check
from ddibp._random import RandomState, as_generator
from ddibp._spec import Spec
from ddibp.contract import Draw
from ddibp.hyperpriors import Gamma
from ddibp.laws import SharingLaw
from ddibp.priors._columns import check_mass, draw_mass, log_matrix_probability, mean_mass
from ddibp.proximity.neighbours import require_square_memory

if TYPE_CHECKING:
    from ddibp.priors._newcomers import Newcomers, Places
    from ddibp.priors._process import Process


@dataclass(frozen=True)
class IBP(Spec):
    r"""Indian buffet process with mass :math:`\alpha`.

    Parameters
    ----------
    alpha : float or Gamma
        Mass :math:`\alpha`: the expected number of features per row. A `Gamma` is a prior on it: `sample` draws it,
        `logpmf` integrates it out.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import IBP
    >>> Z = IBP(2.0).sample(100, rng=0)
    >>> Z.shape, Z.dtype
    ((100, 14), dtype('bool'))
    >>> round(IBP(2.0).logpmf(np.eye(3)), 4)
    -4.8831
    """

    alpha: float | Gamma = field(default_factory=Gamma)

    mass_name: ClassVar[str] = "alpha"
    takes_covariates: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_mass("alpha", self.alpha)

    @property
    def learned(self) -> dict[str, Gamma]:
        """Parameters besides the mass that are given as a `Gamma`: there are none."""
        return {}

    def process(
        self,
        covariates: Any,
        *,
        groups: Any = None,  # noqa: ARG002
        parameters: Mapping[str, float] = MappingProxyType({}),  # noqa: ARG002
    ) -> Process:
        """Return what chains ask of the prior; ``covariates`` are the number of rows, or have it."""
        from ddibp.priors._process import ExchangeableProcess

        return ExchangeableProcess(count_rows(covariates))

    def newcomers(self, places: Places) -> Newcomers:
        """Return what `ddibp.prediction` asks of the prior."""
        from ddibp.priors._newcomers import ExchangeableNewcomers

        return ExchangeableNewcomers(places)

    @overload
    def sample(
        self, covariates: Any, *, rng: RandomState = None, return_causes: Literal[False] = False
    ) -> NDArray[np.bool_]: ...
    @overload
    def sample(self, covariates: Any, *, rng: RandomState = None, return_causes: Literal[True]) -> Draw: ...
    def sample(
        self, covariates: Any, *, rng: RandomState = None, return_causes: bool = False
    ) -> NDArray[np.bool_] | Draw:
        """Draw a feature matrix; columns are ordered by the first row that has them.

        Parameters
        ----------
        covariates : int or array-like
            The number of rows, or anything with that many rows (the values do not matter).
        rng : int, SeedSequence or Generator, optional
            Seed or stream.
        return_causes : bool
            Also return owners (the first row of each feature) and links (uniform over earlier rows and oneself), as the
            dd-IBP with constant decay and sequential distances would.
        """
        from ddibp import _links

        generator = as_generator(rng)
        n = count_rows(covariates)
        counts = generator.poisson(draw_mass(self.alpha, generator) / np.arange(1, n + 1))
        owners = np.repeat(np.arange(n, dtype=np.int32), counts)
        links = np.empty((owners.size, n), np.int32)
        active = np.zeros((owners.size, n), np.bool_)
        _links.draw_ibp(generator, owners, links, active)
        Z = np.ascontiguousarray(active.T)
        return Draw(Z, owners, np.ascontiguousarray(links.T)) if return_causes else Z

    def logpmf(self, Z: Any, covariates: Any = None) -> float:
        """Return the exact log probability of the class of matrices that differ from Z by the order of columns.

        Columns without an active row are impossible (``-inf``). ``covariates`` are ignored.
        """
        Z = self._matrix(Z, covariates)
        unit_total = float(np.sum(1.0 / np.arange(1, len(Z) + 1)))
        return log_matrix_probability(Z, log_unit_rates(Z), unit_total, self.alpha)

    def log_rate(self, Z: Any, covariates: Any = None) -> NDArray[np.float64]:
        r"""Return :math:`\log \rho_z` for every column of Z (a `Gamma` mass at its mean)."""
        return np.log(mean_mass(self.alpha)) + log_unit_rates(self._matrix(Z, covariates))

    def expected_features(self, covariates: Any) -> float:
        r"""Return :math:`\alpha H_N`."""
        return mean_mass(self.alpha) * float(np.sum(1.0 / np.arange(1, count_rows(covariates) + 1)))

    def sharing(self, covariates: Any) -> SharingLaw:
        r"""Return the law of :math:`R_{ij}`: Poisson with mean :math:`\alpha/2` (:math:`\alpha` for i = j)."""
        require_square_memory(count_rows(covariates))
        S = np.full((count_rows(covariates),) * 2, 0.5)
        np.fill_diagonal(S, 1.0)
        return SharingLaw.poisson(S, self.alpha, method="closed form")

    def expected_sharing(self, covariates: Any) -> NDArray[np.float64]:
        r"""Return the matrix of :math:`E[R_{ij}]`."""
        return self.sharing(covariates).mean()

    @staticmethod
    def _matrix(Z: Any, covariates: Any) -> NDArray[np.bool_]:
        return _check.binary_matrix("Z", Z, None if covariates is None else count_rows(covariates))


def count_rows(covariates: Any) -> int:
    """Return the number of rows that ``covariates`` (a number, an array or a proximity) describe."""
    if isinstance(covariates, (int, np.integer)):
        return _check.count("covariates (the number of rows)", covariates, low=1)
    if hasattr(covariates, "n_rows"):
        return int(covariates.n_rows)
    shape = np.shape(covariates)
    if not shape or shape[0] == 0:
        raise ValueError(
            f"covariates must be a number of rows (at least 1) or an array with that many rows, got {covariates!r}."
        )
    return int(shape[0])


def log_unit_rates(Z: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return log (m-1)! (N-m)! / N! for every column of Z, minus infinity for empty ones."""
    from scipy.special import gammaln

    n = len(Z)
    m = Z.sum(axis=0)
    return np.where(m > 0, gammaln(np.maximum(m, 1)) + gammaln(n - m + 1) - gammaln(n + 1), -np.inf)
