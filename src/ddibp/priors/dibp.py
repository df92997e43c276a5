r"""The dependent Indian buffet process: features that switch on where a Gaussian process falls below a threshold.

Dishes have weights :math:`\{b_k\}`, a Poisson process of intensity :math:`\alpha\,db/b` on (0, 1), and Gaussian
processes :math:`g_k` over the covariates. With :math:`h_{ik} = g_k(t_i) + \epsilon_{ik}`, scaled to variance 1,

.. math:: z_{ik} = 1 \iff h_{ik} < \Phi^{-1}(b_k), \qquad
          \rho_z = \alpha \int_0^1 b^{-1}\, P(h_i < \Phi^{-1}(b) \text{ exactly where } z_i = 1)\, db,

so that :math:`P(z_{ik} = 1 \mid b_k) = b_k` in every row. Rows share by their correlation only, and the law of some
rows does not depend on which others there are.

References
----------
Williamson, Orbanz and Ghahramani (2010), Dependent Indian buffet processes, AISTATS.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from ddibp import _check
from ddibp._random import RandomState, as_generator
from ddibp._spec import Spec
from ddibp.hyperpriors import Gamma
from ddibp.laws import SharingLaw
from ddibp.priors import _covariance
from ddibp.priors._columns import check_mass, draw_mass, log_matrix_probability, mean_mass
from ddibp.priors._probit import Field, draw_new, shared_part
from ddibp.proximity.metrics import as_groups, as_points

if TYPE_CHECKING:
    from ddibp.priors._newcomers import Newcomers, Places
    from ddibp.priors._process import Process

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class DIBP(Spec):
    r"""Dependent Indian buffet process.

    Parameters
    ----------
    kernel : str or kernel of sklearn.gaussian_process.kernels
        :math:`k`: ``"rbf"``, ``"matern12"``, ``"matern32"``, ``"matern52"``, ``"rational quadratic"``, or a kernel
        object, whose own parameters stay as they are; do not change it afterwards.
    alpha : float or Gamma
        Mass :math:`\alpha`: the expected number of features per row. A `Gamma` is a prior on it: `sample` draws it,
        `logpmf` integrates it out.
    length_scale : float or Gamma
        :math:`\ell > 0`, by which covariates are divided. A `Gamma` is a prior: `sample` draws the parameter, and all
        that is computed takes it at its mean. So too for the next two.
    variance : float or Gamma
        :math:`\sigma^2 \ge 0`: the covariance of :math:`g_k` is :math:`\sigma^2 k(t/\ell, t'/\ell)`. With 0, rows are
        exchangeable and this is the IBP.
    nugget : float or Gamma
        Variance of :math:`\epsilon_{ik}`, at least 0. Only its size beside ``variance`` matters.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import DIBP
    >>> prior = DIBP("matern32", alpha=3.0, length_scale=5.0)
    >>> prior.sample(np.arange(50.0), rng=0).shape
    (50, 11)
    >>> prior.expected_sharing([0.0, 1.0, 100.0]).round(3)
    array([[3.   , 2.441, 1.5  ],
           [2.441, 3.   , 1.5  ],
           [1.5  , 1.5  , 3.   ]])

    Probabilities of matrices are estimates by quasi Monte Carlo, the same with every call, and can tell their error:

    >>> estimate, error = prior.logpmf([[1, 1], [1, 0], [0, 1]], [0.0, 1.0, 100.0], return_error=True)
    >>> round(estimate, 1), error < 0.01
    (-6.5, True)
    """

    kernel: Any = "rbf"
    alpha: float | Gamma = field(default_factory=Gamma)
    length_scale: float | Gamma = 1.0
    variance: float | Gamma = 1.0
    nugget: float | Gamma = 0.1

    mass_name: ClassVar[str] = "alpha"
    takes_covariates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _covariance.check_kernel(self.kernel)
        check_mass("alpha", self.alpha)
        for name in ("length_scale", "variance", "nugget"):
            value = getattr(self, name)
            if not isinstance(value, Gamma):
                _check.number(name, value, low=0.0, open_low=name == "length_scale")
        if self.variance == 0.0 and self.nugget == 0.0:
            raise ValueError("nugget must be positive where variance is 0, got 0 for both; rows have no variance then.")

    def __hash__(self) -> int:
        # scikit-learn's kernels have no hash.
        return hash((repr(self.kernel), self.alpha, self.length_scale, self.variance, self.nugget))

    @property
    def learned(self) -> dict[str, Gamma]:
        """The parameters of the correlations that have a prior instead of a number."""
        given = {name: getattr(self, name) for name in ("length_scale", "variance", "nugget")}
        return {name: value for name, value in given.items() if isinstance(value, Gamma)}

    def process(
        self, covariates: Any, *, groups: Any = None, parameters: Mapping[str, float] = MappingProxyType({})
    ) -> Process:
        """Return what chains ask of the prior, with numbers in place of parameters that are learned."""
        from ddibp.priors._latent import LatentProcess

        prior = self.set_params(**parameters)
        points = as_points(covariates)
        scales = [mean_mass(value) for value in (prior.variance, prior.nugget)]
        noise = _covariance.share_of_noise(self.kernel, points, mean_mass(prior.length_scale), *scales)
        if not noise.min() > 0.0:
            raise ValueError("nugget must be positive for posterior sampling, 1e-6 of the variance say; got 0.")
        return LatentProcess(prior.field(points, groups=groups), noise)

    def newcomers(self, places: Places) -> Newcomers:
        """Return what `ddibp.prediction` asks of the prior."""
        from ddibp.priors._newcomers_latent import LatentNewcomers

        return LatentNewcomers(self, places)

    def correlation(self, covariates: Any, *, groups: Any = None) -> FloatArray:
        r"""Return the correlations C of :math:`h_{ik}` over rows (parameters with a prior at its mean).

        .. math:: C_{ij} = \frac{\sigma^2 k(t_i/\ell, t_j/\ell)}{\sqrt{(\sigma^2 k_{ii} + \nu)(\sigma^2 k_{jj} + \nu)}}
                  \quad (i \ne j), \qquad C_{ii} = 1, \qquad \nu \text{ the nugget}.

        Parameters
        ----------
        covariates : array-like of shape (n_rows,) or (n_rows, n_columns)
            Finite numbers.
        groups : array-like of shape (n_rows,), optional
            Labels. Rows of different groups are independent, :math:`C_{ij} = 0`: they share as under the IBP, which is
            half of their features, not none.

        Examples
        --------
        >>> from ddibp import DIBP
        >>> DIBP("matern12", nugget=0.25).correlation([0.0, 0.0, 1.0], groups=["a", "a", "b"])
        array([[1. , 0.8, 0. ],
               [0.8, 1. , 0. ],
               [0. , 0. , 1. ]])
        """
        points = as_points(covariates)
        codes = as_groups(groups, len(points))
        scales = [mean_mass(value) for value in (self.length_scale, self.variance, self.nugget)]
        return _covariance.correlation_matrix(self.kernel, points, codes, *scales)

    def field(self, covariates: Any, *, groups: Any = None) -> Field:
        """Return the Gaussian rows of ``covariates``; every method takes them in their place.

        Parameters
        ----------
        covariates, groups
            As in `correlation`. A ready-made field is returned as it is.
        """
        if isinstance(covariates, Field):
            if groups is not None:
                raise ValueError("groups must be given when the field is made, not beside a ready-made one.")
            return covariates
        return Field(self.correlation(covariates, groups=groups))

    def sample(self, covariates: Any, *, rng: RandomState = None) -> NDArray[np.bool_]:
        r"""Draw a feature matrix exactly, with no truncation; columns are ordered by the first row that has them.

        Every row i proposes Poisson(:math:`\alpha`) dishes that it takes, with b uniform on (0, 1), and a dish is kept
        if no earlier row takes it. The correlations may be singular (``nugget=0``): rows with equal covariates are then
        the same.

        Parameters
        ----------
        covariates : array-like or Field
            See `field`. A ready-made field has its parameters already.
        rng : int, SeedSequence or Generator, optional
            Seed or stream.
        """
        generator = as_generator(rng)
        mass = draw_mass(self.alpha, generator)
        rows = self._drawn(generator).field(covariates)
        takers = np.repeat(np.arange(rows.n_rows), generator.poisson(mass, rows.n_rows))
        return np.ascontiguousarray(draw_new(rows, takers, generator).z)

    def sharing(self, covariates: Any) -> SharingLaw:
        r"""Return the law of :math:`R_{ij}`: Poisson with mean :math:`\alpha J(C_{ij})`.

        :math:`J(\varrho) = \int_0^1 b^{-1} \Phi_2(\Phi^{-1}b, \Phi^{-1}b; \varrho)\,db` grows with the correlation:
        :math:`J(0) = 1/2` as under the IBP, :math:`J(1) = 1`, and :math:`J < 1/2` where it is negative. It is computed
        to rounding error.
        """
        return SharingLaw.poisson(shared_part(self.field(covariates).matrix), self.alpha, method="closed form")

    def expected_sharing(self, covariates: Any) -> FloatArray:
        r"""Return the matrix of :math:`E[R_{ij}]`."""
        return self.sharing(covariates).mean()

    @overload
    def expected_features(
        self, covariates: Any, *, n_points: int = 8192, rng: RandomState = 0, return_error: Literal[False] = False
    ) -> float: ...
    @overload
    def expected_features(
        self, covariates: Any, *, n_points: int = 8192, rng: RandomState = 0, return_error: Literal[True]
    ) -> tuple[float, float]: ...
    def expected_features(
        self, covariates: Any, *, n_points: int = 8192, rng: RandomState = 0, return_error: bool = False
    ) -> float | tuple[float, float]:
        r"""Return the expected number of columns, :math:`\alpha\lambda_1 = \alpha E[-\log \min_i \Phi(h_i)]`.

        Exact for one row (:math:`\alpha`), two rows (:math:`\alpha(2 - J)`) and independent rows
        (:math:`\alpha H_N`); otherwise an estimate by quasi Monte Carlo, whose standard error is below half a percent
        with the default number of points.

        Parameters
        ----------
        covariates : array-like or Field
            See `field`.
        n_points : int
            Number of points, rounded up to eight times a power of two.
        rng : int, SeedSequence or Generator, optional
            Seed of the random shifts of the points.
        return_error : bool
            Return the standard error too.

        Examples
        --------
        >>> from ddibp import DIBP
        >>> value, error = DIBP(alpha=2.0).expected_features([0.0, 1.0, 2.0], return_error=True)
        >>> round(value, 2), error < 0.005
        (3.23, True)
        """
        rows, generator = self.field(covariates), as_generator(rng)
        total, error = self._unit_total(rows, n_points, generator)
        mass = mean_mass(self.alpha)
        return (mass * total, mass * error) if return_error else mass * total

    @overload
    def log_rate(
        self,
        Z: Any,
        covariates: Any,
        *,
        n_points: int = 4096,
        rng: RandomState = 0,
        return_error: Literal[False] = False,
    ) -> FloatArray: ...
    @overload
    def log_rate(
        self, Z: Any, covariates: Any, *, n_points: int = 4096, rng: RandomState = 0, return_error: Literal[True]
    ) -> tuple[FloatArray, FloatArray]: ...
    def log_rate(
        self, Z: Any, covariates: Any, *, n_points: int = 4096, rng: RandomState = 0, return_error: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        r"""Return an estimate of :math:`\log \rho_z` for every column of Z (a `Gamma` mass at its mean).

        Exact for one row, two rows and independent rows, and for columns that are empty or tell apart rows that are
        the same (``-inf``). Otherwise tilted quasi Monte Carlo over thresholds and Gaussian rows. With the default
        number of points the standard error is a few 0.001 for few rows and some 0.03 for 100. From several hundred
        rows on, few points have most of the weight, and it may be far too small. Every row counts :math:`10^{-8}` more
        of nugget. The time per different column is quadratic in the number of rows, times points, and cubic once.

        Parameters
        ----------
        Z : array-like of shape (n_rows, n_features)
            Columns of 0 and 1.
        covariates : array-like or Field
            See `field`.
        n_points, rng, return_error
            As in `expected_features`; errors are those of the logarithms.

        Examples
        --------
        >>> import numpy as np
        >>> from ddibp import DIBP
        >>> rates, errors = DIBP(alpha=1.0).log_rate(np.eye(3), [0.0, 1.0, 2.0], return_error=True)
        >>> rates.round(2), bool(errors.max() < 0.01)
        (array([-1.28, -1.92, -1.28]), True)
        """
        value, error, _ = self._unit_rates(Z, covariates, n_points, as_generator(rng))
        value = math.log(mean_mass(self.alpha)) + value
        return (value, error) if return_error else value

    @overload
    def logpmf(
        self,
        Z: Any,
        covariates: Any,
        *,
        n_points: int = 4096,
        rng: RandomState = 0,
        return_error: Literal[False] = False,
    ) -> float: ...
    @overload
    def logpmf(
        self, Z: Any, covariates: Any, *, n_points: int = 4096, rng: RandomState = 0, return_error: Literal[True]
    ) -> tuple[float, float]: ...
    def logpmf(
        self, Z: Any, covariates: Any, *, n_points: int = 4096, rng: RandomState = 0, return_error: bool = False
    ) -> float | tuple[float, float]:
        r"""Return an estimate of the log probability of the class of matrices equal to Z up to the order of columns.

        Made from `log_rate` and `expected_features`, and exact where these are. Its error is that of the sum of all log
        rates, and of :math:`\alpha\lambda_1`.

        Parameters
        ----------
        Z, covariates, n_points, rng, return_error
            As in `log_rate`.
        """
        generator = as_generator(rng)
        value, error, rows = self._unit_rates(Z, covariates, n_points, generator)
        Z = _check.binary_matrix("Z", Z)
        total, total_error = self._unit_total(rows, n_points, generator)
        result = log_matrix_probability(Z, value, total, self.alpha)
        if not return_error:
            return result
        # Equal columns share one estimate, so that their errors add up before they are squared.
        counts = np.unique(Z, axis=1, return_inverse=True)[1].ravel()
        errors = np.bincount(counts, error, minlength=1)
        if isinstance(self.alpha, Gamma):
            mass = (self.alpha.shape + Z.shape[1]) / (self.alpha.rate + total)
        else:
            mass = float(self.alpha)
        return result, math.hypot(float(np.linalg.norm(errors)), mass * total_error)

    def _drawn(self, rng: np.random.Generator) -> Self:
        """Return this prior with the parameters of its correlations drawn from their priors."""
        return self.set_params(**{name: prior.sample(rng) for name, prior in self.learned.items()})

    def _unit_total(self, rows: Field, n_points: int, rng: np.random.Generator) -> tuple[float, float]:
        from ddibp.priors import _orthants

        value, error = _orthants.unit_total(rows, _check.count("n_points", n_points, low=1), rng)
        return float(value), float(error)

    def _unit_rates(
        self, Z: Any, covariates: Any, n_points: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray, Field]:
        from ddibp.priors import _orthants

        rows = self.field(covariates)
        Z = _check.binary_matrix("Z", Z, rows.n_rows)
        return *_orthants.log_unit_rates(rows, Z, _check.count("n_points", n_points, low=1), rng), rows
