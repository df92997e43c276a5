r"""The attraction Indian buffet distribution: customers come in one by one and take what near customers have taken.

The customer at place i (from 1) takes Poisson(:math:`\alpha/i`) new dishes, and an old dish k with probability

.. math:: p_{ik} = \frac{i-1}{i}\,\frac{\sum_{j<i} \lambda_{ij} z_{jk}}{\sum_{j<i} \lambda_{ij}},

where :math:`\lambda = f(d)`. This is a sequential dd-IBP with other numbers, :math:`a_{ij} = \frac{i-1}{i}
\lambda_{ij}/\sum_{l<i} \lambda_{il}`, :math:`a_{ii} = 1/i` and :math:`h_i = i`, so that the number of features of a
row, and that of all rows together, keep the laws that they have under the IBP.

References
----------
Warr, Dahl, Meyer and Lui (2022), The attraction Indian buffet distribution, Bayesian Analysis 17.
"""

from __future__ import annotations

import itertools
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
from ddibp.priors._columns import check_mass, log_matrix_probability
from ddibp.priors.ddibp import DDIBP
from ddibp.proximity import Decay, Exponential, Proximity, as_decay
from ddibp.proximity.metrics import as_groups, as_points, check_metric
from ddibp.proximity.neighbours import require_room

if TYPE_CHECKING:
    from ddibp.priors._newcomers import Newcomers, Places
    from ddibp.priors._process import Process

IntArray = NDArray[np.int64]
LARGEST_SUM = 12  # rows up to which probabilities are summed over all orders, a set of rows at a time
LARGEST_LISTING = 7  # rows up to which orders are visited one by one


@dataclass(frozen=True)
class AIBD(Spec):
    r"""Attraction Indian buffet distribution.

    Parameters
    ----------
    decay : Decay or callable
        :math:`f`: how attraction :math:`\lambda = f(d)` falls with distance. ``Constant()`` makes the IBP.
    alpha : float or Gamma
        Mass :math:`\alpha`: the expected number of features per row. A `Gamma` is a prior on it.
    metric : str or callable
        A metric of `scipy.spatial.distance`, ``"haversine"``, or ``"precomputed"`` (covariates are then distances).
    cutoff : float
        Decays at or below this count as 0, which makes the proximity sparse. Every row but the first needs an earlier
        one within reach.
    permutation : {"rows", "uniform"}
        ``"rows"``: rows arrive in the order in which they stand; covariates need not be sorted. ``"uniform"``: the
        order is unknown, and all orders are equally likely; methods average over them, or ask for ``order``.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import AIBD, Exponential
    >>> t = np.array([0.0, 3.0, 1.0, 9.0])
    >>> prior = AIBD(Exponential(0.5), alpha=2.0)
    >>> Z = prior.sample(t, rng=0)
    >>> Z.astype(int)
    array([[1, 1, 0, 0, 0],
           [0, 1, 0, 0, 0],
           [0, 1, 1, 1, 0],
           [0, 1, 0, 0, 1]])
    >>> round(prior.logpmf(Z, t), 3)
    -8.085
    >>> round(prior.set_params(permutation="uniform").logpmf(Z, t), 3)
    -8.503
    """

    decay: Decay | Any = field(default_factory=Exponential)
    alpha: float | Gamma = field(default_factory=Gamma)
    metric: Any = "euclidean"
    cutoff: float = 0.0
    permutation: str = "rows"

    mass_name: ClassVar[str] = "alpha"
    takes_covariates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_decay(self.decay)
        check_mass("alpha", self.alpha)
        check_metric(self.metric)
        _check.number("cutoff", self.cutoff, low=0.0)
        _check.choice("permutation", self.permutation, ("rows", "uniform"))

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
        if self._averages(covariates, None):
            from ddibp.priors._order import ArrivalProcess

            if groups is not None:
                raise ValueError("groups must be left out for permutation='uniform': any two rows may be the first.")
            base = prior._all_attractions(covariates)
            return ArrivalProcess.of(base, np.arange(base.n_rows))
        return LinkedProcess(prior.proximity(covariates, groups=groups))

    def newcomers(self, places: Places) -> Newcomers:
        """Return what `ddibp.prediction` asks of the prior."""
        from ddibp.priors._newcomers_linked import ArrivingNewcomers

        return ArrivingNewcomers(self, places)

    def proximity(self, covariates: Any, *, groups: Any = None, order: Any = None) -> Proximity:
        r"""Return the proximity of ``covariates`` for an order of arrival; every method takes it in their place.

        Rows keep their numbers. For rows in the order in which they stand, the proximity is sequential.

        Parameters
        ----------
        covariates : array-like of shape (n_rows,) or (n_rows, n_columns), or Proximity
            See `Proximity.from_covariates`; they need not be sorted.
        groups : array-like of shape (n_rows,), optional
            Labels; every group has a buffet of its own, in which places are counted from 1.
        order : array-like of shape (n_rows,), optional
            Order of arrival: ``order[p]`` is the row at position p. By default that of the rows, but there is no
            default for ``permutation="uniform"``.

        Examples
        --------
        >>> from ddibp import AIBD, Exponential
        >>> prior = AIBD(Exponential(1.0))
        >>> prior.proximity([0.0, 1.0, 9.0]).matrix.toarray().round(3)
        array([[1.   , 0.   , 0.   ],
               [0.5  , 0.5  , 0.   ],
               [0.179, 0.487, 0.333]])
        >>> prior.proximity([0.0, 1.0, 9.0], order=[2, 0, 1]).matrix.toarray().round(3)
        array([[0.5  , 0.   , 0.5  ],
               [0.666, 0.333, 0.001],
               [0.   , 0.   , 1.   ]])
        """
        from ddibp.priors import _arrivals

        if isinstance(covariates, Proximity):
            if groups is not None or order is not None:
                raise ValueError(
                    "groups and order must be given when the proximity is built, not beside a ready-made Proximity."
                )
            _arrivals.require_arrivals(covariates)
            return covariates
        if order is None and self.permutation == "uniform":
            raise ValueError(
                "order must be given here for permutation='uniform', which leaves the order of arrival open: a "
                "permutation with order[p] the row at position p. (For permutation='rows', rows arrive as they stand.)"
            )
        base = self._attractions(covariates, groups, by_rows=order is None)
        n = base.n_rows
        return _arrivals.arrivals(base, np.arange(n) if order is None else _as_order(order, n), as_groups(groups, n))

    @overload
    def sample(
        self,
        covariates: Any,
        *,
        order: Any = None,
        rng: RandomState = None,
        return_causes: Literal[False] = False,
        sparse: Literal[False] = False,
    ) -> NDArray[np.bool_]: ...
    @overload
    def sample(
        self, covariates: Any, *, order: Any = None, rng: RandomState = None, return_causes: Literal[True]
    ) -> Draw: ...
    @overload
    def sample(self, covariates: Any, *, order: Any = None, rng: RandomState = None, sparse: Literal[True]) -> Any: ...
    def sample(
        self,
        covariates: Any,
        *,
        order: Any = None,
        rng: RandomState = None,
        return_causes: bool = False,
        sparse: bool = False,
    ) -> Any:
        """Draw a feature matrix; columns are ordered by the arrival of the row that owns them.

        For ``permutation="uniform"`` an order of arrival is drawn first, unless one is given.

        Parameters
        ----------
        covariates : array-like or Proximity
            See `proximity`.
        order : array-like of shape (n_rows,), optional
            Order of arrival, see `proximity`.
        rng : int, SeedSequence or Generator, optional
            Seed or stream.
        return_causes, sparse
            As for `DDIBP.sample`. The owner of a feature is the first row that arrived and has it.
        """
        generator = as_generator(rng)
        if self._averages(covariates, order):
            order = generator.permutation(self._all_attractions(covariates).n_rows)
        proximity, order = self._by_arrival(covariates, order)
        position = np.argsort(order)
        buffet = self._buffet
        if return_causes and not sparse:
            Z, owners, links = buffet.sample(proximity, rng=generator, return_causes=True)
            return Draw(Z[position], order[owners].astype(np.int32), order[links][position].astype(np.int32))
        drawn: Any = buffet.sample(proximity, rng=generator, return_causes=return_causes, sparse=sparse)  # type: ignore[call-overload]
        return drawn[position]

    def logpmf(self, Z: Any, covariates: Any, *, order: Any = None) -> float:
        """Return the exact log probability of the class of matrices that differ from Z by the order of columns.

        For ``permutation="uniform"`` without an order this is an average over all orders, which is exact for up to 12
        rows and refused beyond.

        Parameters
        ----------
        Z : array-like of shape (n_rows, n_features)
            Zeros and ones.
        covariates : array-like or Proximity
            See `proximity`.
        order : array-like of shape (n_rows,), optional
            Order of arrival, see `proximity`.
        """
        if self._averages(covariates, order):
            return self._average_logpmf(Z, covariates)
        proximity, order = self._by_arrival(covariates, order)
        return self._buffet.logpmf(_check.binary_matrix("Z", Z, proximity.n_rows)[order], proximity)

    def log_rate(self, Z: Any, covariates: Any, *, order: Any = None) -> NDArray[np.float64]:
        r"""Return :math:`\log \rho_z` for every column of Z (a `Gamma` mass at its mean), given the order."""
        proximity, order = self._by_arrival(covariates, order)
        return self._buffet.log_rate(_check.binary_matrix("Z", Z, proximity.n_rows)[order], proximity)

    def expected_features(self, covariates: Any) -> float:
        r"""Return :math:`\alpha H_N` (a sum over groups), the mean of the Poisson law of the number of columns."""
        order = np.arange(self._all_attractions(covariates).n_rows) if self._averages(covariates, None) else None
        return self._buffet.expected_features(self.proximity(covariates, order=order))

    def owner_probabilities(self, z: Any, covariates: Any, *, order: Any = None) -> NDArray[np.float64]:
        """Return the probability of every row to own one column: 1 for the first that arrived and has it."""
        proximity, order = self._by_arrival(covariates, order)
        z = _check.binary_column("z", z, proximity.n_rows)
        return self._buffet.owner_probabilities(z[order], proximity)[np.argsort(order)]

    def sample_causes(self, Z: Any, covariates: Any, *, order: Any = None, rng: RandomState = None) -> Draw:
        """Draw owners and links from their exact law given the feature matrix and the order of arrival.

        Examples
        --------
        >>> from ddibp import AIBD, Exponential
        >>> prior = AIBD(Exponential(1.0), alpha=1.0)
        >>> prior.sample_causes([[1], [0], [1]], [0.0, 1.0, 2.0], order=[2, 0, 1], rng=0).owners
        array([2], dtype=int32)
        """
        proximity, order = self._by_arrival(covariates, order)
        Z = _check.binary_matrix("Z", Z, proximity.n_rows)
        _, owners, links = self._buffet.sample_causes(Z[order], proximity, rng=rng)
        return Draw(Z, order[owners].astype(np.int32), order[links][np.argsort(order)].astype(np.int32))

    def sharing(
        self,
        covariates: Any,
        *,
        order: Any = None,
        method: str = "auto",
        n_draws: int = 1000,
        rng: RandomState = 0,
    ) -> SharingLaw:
        r"""Return the law of the number of shared features: :math:`R_{ij}` is Poisson given the order of arrival.

        Its mean at mass 1 is :math:`S_{ii} = 1` and, for j before i,
        :math:`S_{ij} = \frac{i-1}{i} \sum_{l<i} w_{il} S_{lj}` with
        :math:`w_{il} = \lambda_{il}/\sum_{m<i} \lambda_{im}`. For ``permutation="uniform"`` without an order,
        :math:`R_{ij}` is a mixture with a component for every order.

        Parameters
        ----------
        covariates : array-like or Proximity
            See `proximity`.
        order : array-like of shape (n_rows,), optional
            Order of arrival, see `proximity`.
        method : {"auto", "recursion", "enumeration", "monte carlo"}
            As for `DDIBP.sharing` if the order is known; ``"auto"`` is then the recursion, which is exact. If it is
            not: ``"enumeration"`` visits all orders of at most 7 rows, and ``"monte carlo"`` draws orders; it comes
            with standard errors of the average over orders.
        n_draws, rng
            For Monte Carlo only: the number of draws, and the seed.
        """
        if self._averages(covariates, order):
            return self._average_sharing(covariates, method, n_draws, as_generator(rng))
        proximity, order = self._by_arrival(covariates, order)
        law = self._buffet.sharing(proximity, method=method, n_draws=n_draws, rng=rng)
        turned = np.ix_(np.argsort(order), np.argsort(order))
        error = None if law.standard_error is None else law.standard_error[turned]
        return SharingLaw.poisson(law.unit_means[0][turned], self.alpha, method=law.method, standard_error=error)

    def expected_sharing(self, covariates: Any, *, order: Any = None) -> NDArray[np.float64]:
        r"""Return the matrix of :math:`E[R_{ij}]`; `sharing` tells how it was computed and how accurate it is."""
        return self.sharing(covariates, order=order).mean()

    @property
    def _buffet(self) -> DDIBP:
        """The dd-IBP that, given a proximity of the AIBD, is the AIBD."""
        return DDIBP(alpha=self.alpha)

    def _averages(self, covariates: Any, order: Any) -> bool:
        """Return whether the order of arrival is open."""
        return self.permutation == "uniform" and order is None and not isinstance(covariates, Proximity)

    def _attractions(self, covariates: Any, groups: Any, by_rows: bool) -> Proximity:
        """Return a dd-IBP's proximity, whose weights are proportional to the attractions within a row.

        Rows that arrive as they stand need no distances to later rows. Sorted search, which is used for one column,
        leaves these out for sorted rows only.
        """
        if by_rows and not (isinstance(self.metric, str) and self.metric == "precomputed"):
            points = as_points(covariates)
            by_rows = points.shape[1] > 1 or not (np.diff(points[:, 0]) < 0.0).any()
        kernel = DDIBP(self.decay, sequential=by_rows, metric=self.metric, cutoff=self.cutoff)
        return kernel.proximity(covariates, groups=groups)

    def _all_attractions(self, covariates: Any) -> Proximity:
        """Return `_attractions` among all rows; raise if a pair, which may be the first to arrive, is out of reach."""
        base = self._attractions(covariates, None, by_rows=False)
        if base.n_pairs < base.n_rows**2:
            i = int(np.argmax(np.diff(base.rows.indptr) < base.n_rows))
            raise ValueError(
                "permutation='uniform' needs every row within reach of every other, as any two may be the first to "
                f"arrive, but row {i} is not; use a decay that never vanishes (such as Exponential, with cutoff=0), or "
                "permutation='rows'."
            )
        return base

    def _by_arrival(self, covariates: Any, order: Any) -> tuple[Proximity, IntArray]:
        """Return the proximity with rows numbered by their arrival, and the order of arrival."""
        from ddibp.priors import _arrivals

        proximity = self.proximity(covariates, order=order)
        if proximity.sequential:
            return proximity, np.arange(proximity.n_rows)
        order = np.argsort(proximity.normalisers, kind="stable")
        return _arrivals.numbered_by_arrival(proximity, order), order

    def _logs(self, base: Proximity) -> NDArray[np.float64]:
        from ddibp.priors import _arrivals

        return _arrivals.log_weights(base).reshape(base.n_rows, base.n_rows)

    def _average_logpmf(self, Z: Any, covariates: Any) -> float:
        from ddibp.priors import _arrivals

        base = self._all_attractions(covariates)
        Z = _check.binary_matrix("Z", Z, base.n_rows)
        if base.n_rows > LARGEST_SUM:
            raise ValueError(
                f"logpmf sums over all orders of arrival for up to {LARGEST_SUM} rows, and there are {base.n_rows}; "
                "give the order: order= (a permutation with order[p] the row at position p)."
            )
        if not Z.any(axis=0).all():
            return -np.inf
        columns = np.ascontiguousarray(Z.T).astype(np.uint8)
        rates = np.array([_arrivals.log_average_over_orders(self._logs(base), columns)])
        return log_matrix_probability(Z, rates, float(np.sum(1.0 / np.arange(1, base.n_rows + 1))), self.alpha)

    def _average_sharing(self, covariates: Any, method: str, n_draws: int, rng: np.random.Generator) -> SharingLaw:
        from ddibp.priors import _arrivals
        from ddibp.priors._sharing import METHODS

        base = self._all_attractions(covariates)
        n = base.n_rows
        if _check.choice("method", method, METHODS) == "recursion":
            raise ValueError("method 'recursion' needs the order of arrival: give order=, or use permutation='rows'.")
        if method == "enumeration" and n > LARGEST_LISTING:
            raise ValueError(
                f"method 'enumeration' visits every order of arrival for up to {LARGEST_LISTING} rows, and there are "
                f"{n}; use 'monte carlo', or give order=."
            )
        exact = method == "enumeration" or (method == "auto" and n <= LARGEST_LISTING)
        if exact:
            orders = np.array(list(itertools.permutations(range(n))))
        else:
            n_draws = _check.count("n_draws", n_draws, low=2)
            require_room(32.0 * n_draws * n**2, f"{n_draws} orders of {n} rows", "Take fewer: n_draws=.")
            orders = np.array([rng.permutation(n) for _ in range(n_draws)])
        S = _arrivals.sharing_in_orders(self._logs(base), orders)
        error = None if exact else S.std(axis=0, ddof=1) / np.sqrt(len(S))
        weights = np.broadcast_to(1.0 / len(S), S.shape)
        return SharingLaw(S, weights, self.alpha, "enumeration" if exact else "monte carlo", error)


def _as_order(order: Any, n_rows: int) -> IntArray:
    """Return an order of arrival, or say that it is none."""
    rows = np.asarray(order)
    if rows.dtype.kind not in "iu" or not np.array_equal(np.sort(rows, axis=None), np.arange(n_rows)) or rows.ndim != 1:
        raise ValueError(
            f"order must hold every row number from 0 to {n_rows - 1} once, order[p] being the row at position p; "
            f"got {order!r}."
        )
    return rows.astype(np.int64)
