r"""The dependent hierarchical beta process: its feature-sharing laws and exact forward sampling, in both readings.

A base measure has atoms :math:`p_k` with intensity :math:`\gamma c_0 p^{-1} (1-p)^{c_0-1} dp`, every row j has its own
:math:`p^*_{jk} \sim \mathrm{Beta}(c_1 p_k, c_1(1-p_k))`, and row i borrows from row g drawn by :math:`a_{i \cdot}`:

* ``coupling="customer"``: one :math:`g_i` for all features of row i, :math:`z_{ik} \sim \mathrm{Bern}(p^*_{g_i k})`;
* ``coupling="dish"``: :math:`z_{ik} \sim \mathrm{Bern}(\sum_j a_{ij} p^*_{jk})`, a :math:`g_{ik}` for every feature.

The two agree for a single entry but not jointly: :math:`R_{ij}` is a mixture of two Poissons in the first reading and
one Poisson, with the same mean, in the second.

References
----------
Zhou, Yang, Sapiro, Dunson and Carin (2011), Dependent hierarchical beta process for image interpolation and denoising,
AISTATS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ddibp import _check
from ddibp._random import RandomState, as_generator
from ddibp._spec import Spec
from ddibp.hyperpriors import Gamma
from ddibp.laws import SharingLaw
from ddibp.priors._columns import check_mass, draw_mass, log_matrix_probability, mean_mass
from ddibp.proximity import Decay, Exponential, Proximity, as_decay
from ddibp.proximity.matrix import as_proximity
from ddibp.proximity.metrics import check_metric
from ddibp.proximity.neighbours import require_square_memory

if TYPE_CHECKING:
    from ddibp.priors._borrowing import BorrowingProcess
    from ddibp.priors._newcomers import Newcomers, Places
    from ddibp.priors._process import Process


LARGEST_C0 = 1000.0


@dataclass(frozen=True)
class DHBP(Spec):
    r"""Dependent hierarchical beta process.

    Parameters
    ----------
    decay : Decay or callable
        :math:`f`: how the inclination to borrow falls with distance.
    gamma : float or Gamma
        Mass :math:`\gamma`: the expected number of features per row.
    c0, c1 : float or Gamma
        Concentrations of the base measure, at most 1000, and of the rows' measures. A `Gamma` is learned in posterior
        sampling, drawn by `sample`, and stands for its mean elsewhere.
    sequential, metric, cutoff
        As in `DDIBP`.
    coupling : {"customer", "dish"}
        Whether a row borrows all features from one row or each from another.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import DHBP, Exponential
    >>> prior = DHBP(Exponential(0.1), gamma=5.0, c0=10.0, c1=1.0)
    >>> prior.sample(np.arange(20.0), rng=0).shape
    (20, 49)
    >>> prior.expected_sharing([0.0, 1.0]).round(3)
    array([[5.   , 1.588],
           [1.588, 5.   ]])
    """

    decay: Decay | Any = field(default_factory=Exponential)
    gamma: float | Gamma = field(default_factory=Gamma)
    c0: float | Gamma = 1.0
    c1: float | Gamma = 1.0
    sequential: bool = False
    metric: Any = "euclidean"
    cutoff: float = 0.0
    coupling: str = "customer"

    mass_name: ClassVar[str] = "gamma"
    takes_covariates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_decay(self.decay)
        check_mass("gamma", self.gamma)
        check_mass("c0", self.c0)
        if not isinstance(self.c0, Gamma) and self.c0 > LARGEST_C0:
            raise ValueError(f"c0 must be at most {LARGEST_C0:g}, beyond which quadrature overflows; got {self.c0:g}.")
        check_mass("c1", self.c1)
        _check.flag("sequential", self.sequential)
        check_metric(self.metric)
        _check.number("cutoff", self.cutoff, low=0.0)
        _check.choice("coupling", self.coupling, ("customer", "dish"))

    @property
    def learned(self) -> dict[str, Gamma]:
        """Parameters besides the mass that are given as a `Gamma`, by name: concentrations, and those of the decay."""
        own = {name: getattr(self, name) for name in ("c0", "c1")}
        return {name: law for name, law in own.items() if isinstance(law, Gamma)} | as_decay(self.decay).learned

    def process(
        self, covariates: Any, *, groups: Any = None, parameters: Mapping[str, float] = MappingProxyType({})
    ) -> Process:
        """Return what chains ask of the prior, with numbers in place of parameters that are learned."""
        from ddibp.priors._borrowing import BorrowingProcess
        from ddibp.priors._dish import DishProcess

        own = {name if name in ("c0", "c1") else f"decay__{name}": value for name, value in parameters.items()}
        prior = self.set_params(**own)
        proximity = prior.proximity(covariates, groups=groups)
        if prior.coupling == "dish":
            return DishProcess(proximity, float(prior.c0), float(prior.c1))  # type: ignore[arg-type]
        alone = np.arange(proximity.n_rows, dtype=np.int32)
        return BorrowingProcess(proximity, alone, float(prior.c0), float(prior.c1))  # type: ignore[arg-type]

    def newcomers(self, places: Places) -> Newcomers:
        """Return what `ddibp.prediction` asks of the prior."""
        from ddibp.priors._newcomers_borrowing import CustomerNewcomers, DishNewcomers

        return (DishNewcomers if self.coupling == "dish" else CustomerNewcomers)(self, places)

    def proximity(self, covariates: Any, *, groups: Any = None) -> Proximity:
        """Return the proximity of ``covariates``; every method takes it in their place."""
        return as_proximity(
            covariates,
            self.decay,
            sequential=bool(self.sequential),
            metric=self.metric,
            cutoff=self.cutoff,
            groups=groups,
        )

    def sample(self, covariates: Any, *, rng: RandomState = None) -> NDArray[np.bool_]:
        """Draw a feature matrix exactly, with no truncation; columns are ordered by the first row that has them.

        Rows come one after the other. New features of a row are candidates that nobody took before: Poisson(γ) atoms of
        the base measure that the row takes, thinned by the probability that no earlier row has taken them.
        """
        from ddibp.priors import _dhbp_kernels

        generator = as_generator(rng)
        proximity = self.proximity(covariates)
        mass, c0, c1 = (draw_mass(value, generator) for value in (self.gamma, self.c0, self.c1))
        return _dhbp_kernels.sample(proximity, mass, c0, c1, self.coupling, generator)

    def logpmf(self, Z: Any, covariates: Any, *, lenders: Any = None) -> float:
        r"""Return the exact log probability of the class of matrices that differ from Z by the order of columns.

        Given who borrows from whom this is a sum over base probabilities that Gauss-Jacobi quadrature does exactly.
        Without ``lenders``, the law is summed over all of them as well, which is possible for a handful of rows, and
        refused beyond 100,000 ways.

        Parameters
        ----------
        Z : array-like of shape (n_rows, n_features)
            Zeros and ones.
        covariates : array-like or Proximity
            See `proximity`.
        lenders : array-like of int, shape (n_rows,), optional
            The row that every row borrows from, for ``coupling="customer"``.

        Examples
        --------
        >>> from ddibp import DHBP, Exponential
        >>> prior = DHBP(Exponential(1.0), gamma=1.0, c0=2.0)
        >>> round(prior.logpmf([[1, 1], [1, 0], [0, 0]], [0.0, 1.0, 2.0]), 4)
        -4.6708
        >>> round(prior.logpmf([[1, 1], [1, 0], [0, 0]], [0.0, 1.0, 2.0], lenders=[0, 0, 2]), 4)
        -4.1784
        """
        from scipy.special import logsumexp

        proximity = self.proximity(covariates)
        Z = _check.binary_matrix("Z", Z, proximity.n_rows)
        if self.coupling == "dish":
            rates, total = self._dish_rates(Z, proximity, lenders)
            return log_matrix_probability(Z, rates, total, self.gamma)
        given = self._given(proximity, lenders)
        logs = [log_matrix_probability(Z, part.log_unit_rates(Z), part.unit_total, self.gamma) for part, _ in given]
        return float(logsumexp(logs, b=[p for _, p in given]))

    def log_rate(self, Z: Any, covariates: Any, *, lenders: Any = None) -> NDArray[np.float64]:
        r"""Return :math:`\log \rho_z` for every column of Z (a `Gamma` mass at its mean).

        For ``coupling="customer"`` columns are Poisson in number, independently over patterns, only given ``lenders``,
        which are needed; for ``"dish"`` they are so outright, and the rate is a sum over all lenders, for a handful of
        rows.
        """
        proximity = self.proximity(covariates)
        Z = _check.binary_matrix("Z", Z, proximity.n_rows)
        if self.coupling == "dish":
            rates = self._dish_rates(Z, proximity, lenders)[0]
        elif lenders is None:
            raise ValueError(
                "lenders must be given for coupling='customer': numbers of columns are independent only given the row "
                "that every row borrows from."
            )
        else:
            rates = self._given(proximity, lenders)[0][0].log_unit_rates(Z)
        return np.log(mean_mass(self.gamma)) + rates

    def expected_features(self, covariates: Any, *, lenders: Any = None, n_draws: int = 1000) -> float:
        r"""Return the expected number of columns, :math:`E[\Lambda(g)]` over who borrows from whom.

        Exact given ``lenders``, and for a handful of rows; otherwise an average over ``n_draws`` draws of lenders, the
        same with every call.
        """
        from ddibp.priors import _networks
        from ddibp.priors._borrowing import BorrowingProcess

        proximity, mass = self.proximity(covariates), mean_mass(self.gamma)
        degrees = np.diff(proximity.rows.indptr).astype(float)
        if lenders is not None or np.log(degrees).sum() <= np.log(_networks.LARGEST_SUM):
            return mass * sum(p * part.unit_total for part, p in self._given(proximity, lenders))
        rng = np.random.default_rng(0)
        alone = np.arange(proximity.n_rows, dtype=np.int32)
        start = BorrowingProcess(proximity, alone, mean_mass(self.c0), mean_mass(self.c1))
        return mass * float(
            np.mean([start.draw_hidden(rng).unit_total for _ in range(_check.count("n_draws", n_draws))])
        )

    def _given(self, proximity: Proximity, lenders: Any) -> list[tuple[BorrowingProcess, float]]:
        """Return processes given lenders with their probabilities: one if the lenders are known."""
        from ddibp.priors import _networks
        from ddibp.priors._borrowing import BorrowingProcess

        c0, c1 = mean_mass(self.c0), mean_mass(self.c1)
        if lenders is None:
            return _networks.partitions(proximity, c0, c1)
        return [(BorrowingProcess(proximity, _networks.check_lenders(lenders, proximity), c0, c1), 1.0)]

    def _dish_rates(
        self, Z: NDArray[np.bool_], proximity: Proximity, lenders: Any
    ) -> tuple[NDArray[np.float64], float]:
        """Return log rates, and the expected number of columns, at mass 1 in the reading "dish"."""
        if lenders is not None:
            raise ValueError("lenders must be left out for coupling='dish', where every feature has its own.")
        given = self._given(proximity, None)
        rates = sum(p * np.exp(part.log_unit_rates(Z)) for part, p in given)
        with np.errstate(divide="ignore"):
            return np.log(rates), sum(p * part.unit_total for part, p in given)

    def sharing(self, covariates: Any) -> SharingLaw:
        r"""Return the law of :math:`R_{ij}`.

        With :math:`\kappa_0 = 1/(c_0+1)`, :math:`\kappa_1 = (c_0+c_1+1)/((c_0+1)(c_1+1))` and
        :math:`s_{ij} = P(g_i = g_j) = \sum_n a_{in} a_{jn}`: Poisson(:math:`\gamma\kappa_1`) with probability
        :math:`s_{ij}` and Poisson(:math:`\gamma\kappa_0`) otherwise for ``"customer"``, and
        Poisson(:math:`\gamma[\kappa_0 + s_{ij}(\kappa_1-\kappa_0)]`) for ``"dish"``.
        """
        proximity = self.proximity(covariates)
        require_square_memory(proximity.n_rows)
        s = np.asarray((proximity.matrix @ proximity.matrix.T).toarray())
        np.fill_diagonal(s, 1.0)
        c0, c1 = mean_mass(self.c0), mean_mass(self.c1)
        apart = 1.0 / (c0 + 1.0)
        together = (c0 + c1 + 1.0) / ((c0 + 1.0) * (c1 + 1.0))
        if self.coupling == "dish":
            mean = apart + s * (together - apart)
            np.fill_diagonal(mean, 1.0)
            return SharingLaw.poisson(mean, self.gamma, method="closed form")
        means = np.stack([np.full_like(s, together), np.full_like(s, apart)])
        np.fill_diagonal(means[0], 1.0)
        return SharingLaw(means, np.stack([s, 1.0 - s]), self.gamma, "closed form")

    def expected_sharing(self, covariates: Any) -> NDArray[np.float64]:
        r"""Return the matrix of :math:`E[R_{ij}]`."""
        return self.sharing(covariates).mean()
