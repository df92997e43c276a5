r"""The distance dependent Indian buffet process, with exact probabilities.

Every row i owns Poisson(:math:`\alpha/h_i`) features, and for every feature every row links to a row drawn by
:math:`a_{ij}`; a row has the feature if it owns it or if its links lead to the owner. Links and owners can be summed
out: the number of columns equal to a pattern z with active rows T and inactive rows F is Poisson with rate

.. math:: \rho_z = \alpha \Bigl[\sum_{n \in T} h_n^{-1} \tau_n(T)\Bigr] \prod_{i \in F} \sum_{j \in F} a_{ij},

where :math:`\tau_n(T)` is the weight of the trees on T directed to n, a determinant. For sequential distances only the
first active row can be the owner, and the column is an autoregressive sequence of coins.

References
----------
Gershman, Frazier and Blei (2015), Distance dependent infinite latent feature models, IEEE Transactions on Pattern
Analysis and Machine Intelligence 37.
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
from ddibp.priors import _reach
from ddibp.priors._columns import check_mass, draw_mass, log_matrix_probability, mean_mass
from ddibp.proximity import Decay, Exponential, Proximity, as_decay
from ddibp.proximity.matrix import as_proximity
from ddibp.proximity.metrics import check_metric

if TYPE_CHECKING:
    from ddibp.priors._newcomers import Newcomers, Places
    from ddibp.priors._process import Process


@dataclass(frozen=True)
class DDIBP(Spec):
    r"""Distance dependent Indian buffet process.

    Parameters
    ----------
    decay : Decay or callable
        :math:`f`: how the inclination to link falls with distance.
    alpha : float or Gamma
        Mass :math:`\alpha`. A `Gamma` is a prior on it: `sample` draws it, `logpmf` integrates it out.
    sequential : bool
        Rows link to earlier rows only; the row order is the order of time, ties included.
    metric : str or callable
        A metric of `scipy.spatial.distance`, ``"haversine"``, or ``"precomputed"`` (covariates are then distances).
    cutoff : float
        Decays at or below this count as 0, which makes the proximity sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import DDIBP, Exponential
    >>> t = np.arange(50.0)
    >>> prior = DDIBP(Exponential(0.1), alpha=2.0, sequential=True)
    >>> Z = prior.sample(t, rng=0)
    >>> Z.shape
    (50, 17)
    >>> round(prior.logpmf(Z, t), 3)
    -277.75

    Covariates are needed wherever a row's neighbours matter; a proximity made once serves as well:

    >>> proximity = prior.proximity(t)
    >>> round(prior.expected_features(proximity), 3)
    15.032
    """

    decay: Decay | Any = field(default_factory=Exponential)
    alpha: float | Gamma = field(default_factory=Gamma)
    sequential: bool = False
    metric: Any = "euclidean"
    cutoff: float = 0.0

    mass_name: ClassVar[str] = "alpha"
    takes_covariates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_decay(self.decay)
        check_mass("alpha", self.alpha)
        _check.flag("sequential", self.sequential)
        check_metric(self.metric)
        _check.number("cutoff", self.cutoff, low=0.0)

    @property
    def learned(self) -> dict[str, Gamma]:
        """Parameters besides the mass that are given as a `Gamma`, by name: those of the decay."""
        return as_decay(self.decay).learned

    def process(
        self, covariates: Any, *, groups: Any = None, parameters: Mapping[str, float] = MappingProxyType({})
    ) -> Process:
        """Return what chains ask of the prior, with numbers in place of parameters that are learned."""
        from ddibp.priors._process import LinkedProcess

        prior = self.set_params(**{f"decay__{name}": value for name, value in parameters.items()})
        return LinkedProcess(prior.proximity(covariates, groups=groups))

    def newcomers(self, places: Places) -> Newcomers:
        """Return what `ddibp.prediction` asks of the prior."""
        from ddibp.priors._newcomers_linked import LinkedNewcomers

        return LinkedNewcomers(self, places)

    def proximity(self, covariates: Any, *, groups: Any = None) -> Proximity:
        """Return the proximity of ``covariates``; every method takes it in their place.

        Parameters
        ----------
        covariates : array-like of shape (n_rows,) or (n_rows, n_columns), or Proximity
            See `Proximity.from_covariates`.
        groups : array-like of shape (n_rows,), optional
            Labels; rows of different groups are infinitely far apart.
        """
        return as_proximity(
            covariates,
            self.decay,
            sequential=bool(self.sequential),
            metric=self.metric,
            cutoff=self.cutoff,
            groups=groups,
        )

    @overload
    def sample(
        self,
        covariates: Any,
        *,
        rng: RandomState = None,
        return_causes: Literal[False] = False,
        sparse: Literal[False] = False,
    ) -> NDArray[np.bool_]: ...
    @overload
    def sample(self, covariates: Any, *, rng: RandomState = None, return_causes: Literal[True]) -> Draw: ...
    @overload
    def sample(self, covariates: Any, *, rng: RandomState = None, sparse: Literal[True]) -> Any: ...
    def sample(
        self, covariates: Any, *, rng: RandomState = None, return_causes: bool = False, sparse: bool = False
    ) -> Any:
        """Draw a feature matrix; columns are ordered by the row that owns them.

        Parameters
        ----------
        covariates : array-like or Proximity
            See `proximity`.
        rng : int, SeedSequence or Generator, optional
            Seed or stream.
        return_causes : bool
            Return a `Draw`: the matrix with its owners and links.
        sparse : bool
            Return a `scipy.sparse.csc_array` of bool and only ever visit rows near active ones: for many rows with a
            finite reach, where features are local and a dense matrix would not fit.

        Examples
        --------
        >>> import numpy as np
        >>> from ddibp import DDIBP, Window
        >>> draw = DDIBP(Window(2.0), alpha=1.0).sample(np.arange(6.0), rng=3, return_causes=True)
        >>> draw.Z.astype(int).sum(axis=0), draw.owners
        (array([2]), array([2], dtype=int32))
        >>> DDIBP(Window(2.0), alpha=1.0).sample(np.arange(1e5), rng=0, sparse=True).shape
        (100000, 33141)
        """
        if sparse and return_causes:
            raise ValueError("return_causes gives links for every row and feature; it cannot go with sparse=True.")
        generator = as_generator(rng)
        proximity = self.proximity(covariates)
        counts = generator.poisson(draw_mass(self.alpha, generator) / proximity.normalisers)
        owners = np.repeat(np.arange(proximity.n_rows, dtype=np.int32), counts)
        if sparse:
            return _reach.draw_sparse(proximity, owners, generator)
        Z, links = _reach.draw_dense(proximity, owners, generator)
        return Draw(Z, owners, links) if return_causes else Z

    def logpmf(self, Z: Any, covariates: Any) -> float:
        r"""Return the exact log probability of the class of matrices that differ from Z by the order of columns.

        Owners and links are summed out. Matrices that the prior cannot produce (an empty column, a pattern that no
        links can make) have ``-inf``. The cost per column is linear in the number of pairs within reach for sequential
        distances, and cubic in the number of active rows otherwise.
        """
        proximity = self.proximity(covariates)
        Z = _check.binary_matrix("Z", Z, proximity.n_rows)
        unit_total = float(np.sum(1.0 / proximity.normalisers))
        return log_matrix_probability(Z, _reach.log_unit_rates(proximity, Z), unit_total, self.alpha)

    def log_rate(self, Z: Any, covariates: Any) -> NDArray[np.float64]:
        r"""Return :math:`\log \rho_z` for every column of Z (a `Gamma` mass at its mean)."""
        proximity = self.proximity(covariates)
        Z = _check.binary_matrix("Z", Z, proximity.n_rows)
        return np.log(mean_mass(self.alpha)) + _reach.log_unit_rates(proximity, Z)

    def expected_features(self, covariates: Any) -> float:
        r"""Return :math:`\alpha \sum_i 1/h_i`, the mean of the Poisson law of the number of columns."""
        return mean_mass(self.alpha) * float(np.sum(1.0 / self.proximity(covariates).normalisers))

    def owner_probabilities(self, z: Any, covariates: Any) -> NDArray[np.float64]:
        r"""Return :math:`P(c^* = n \mid z) \propto h_n^{-1} \tau_n(T)` for every row n, given one column.

        Examples
        --------
        >>> import numpy as np
        >>> from ddibp import DDIBP, Exponential
        >>> D = np.array([[0.0, 1.0, 1.0], [3.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
        >>> prior = DDIBP(Exponential(1.0), alpha=1.0, metric="precomputed")
        >>> prior.owner_probabilities([1, 1, 0], D).round(3)
        array([0.119, 0.881, 0.   ])
        """
        proximity = self.proximity(covariates)
        z = _check.binary_column("z", z, proximity.n_rows)
        return np.exp(_reach.log_owner_probabilities(proximity, z))

    def sample_causes(self, Z: Any, covariates: Any, *, rng: RandomState = None) -> Draw:
        """Draw owners and links from their exact law given the feature matrix.

        Owners come from `owner_probabilities`. Inactive rows link among inactive rows; active rows form a random tree
        directed to the owner, by backward choice for sequential distances and by Wilson's algorithm otherwise; the
        owner's own link comes from the prior.

        Examples
        --------
        >>> import numpy as np
        >>> from ddibp import DDIBP, Exponential
        >>> prior, t = DDIBP(Exponential(0.3), alpha=2.0), np.arange(8.0)
        >>> Z = prior.sample(t, rng=1)
        >>> causes = prior.sample_causes(Z, t, rng=2)
        >>> bool(Z[causes.owners, range(Z.shape[1])].all())
        True
        """
        generator = as_generator(rng)
        proximity = self.proximity(covariates)
        Z = _check.binary_matrix("Z", Z, proximity.n_rows)
        owners, links = _reach.draw_causes(proximity, Z, generator)
        return Draw(Z, owners, links)

    def sharing(
        self, covariates: Any, *, method: str = "auto", n_draws: int = 1000, rng: RandomState = 0
    ) -> SharingLaw:
        r"""Return the law of the number of shared features: :math:`R_{ij}` is Poisson with mean :math:`\alpha S_{ij}`.

        Parameters
        ----------
        covariates : array-like or Proximity
            See `proximity`.
        method : {"auto", "recursion", "enumeration", "monte carlo"}
            ``"recursion"`` is exact for sequential distances; ``"enumeration"`` is exact where every connected part has
            at most 16 rows; ``"monte carlo"`` averages over draws of links and comes with standard errors. ``"auto"``
            takes the first that applies; the result tells which.
        n_draws, rng
            For Monte Carlo only: the number of draws of links, and the seed.
        """
        from ddibp.priors import _sharing

        S, error, used = _sharing.unit_sharing(self.proximity(covariates), method, n_draws, as_generator(rng))
        return SharingLaw.poisson(S, self.alpha, method=used, standard_error=error)

    def expected_sharing(self, covariates: Any) -> NDArray[np.float64]:
        r"""Return the matrix of :math:`E[R_{ij}]`; `sharing` tells how it was computed and how accurate it is."""
        return self.sharing(covariates).mean()
