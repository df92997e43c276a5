r"""READ THIS FIRST: the questions that decays and priors answer, and that everything else may ask.

Data flows one way: covariates and a decay make a proximity; a prior turns a proximity into a law over binary matrices.

====================  ========================  ===========================================================
question              on paper                  in code
====================  ========================  ===========================================================
how near is near      :math:`f(d)`              ``decay(d)``, ``decay.log(d)``, ``decay.reach(tol)``
who may link to whom  :math:`a_{ij}, h_i`       ``Proximity.matrix``, ``Proximity.normalisers``
draw a matrix         :math:`Z \sim P`          ``prior.sample(t, rng=...)``
its probability       :math:`\log P([Z])`       ``prior.logpmf(Z, t)``
rate of one column    :math:`\log \rho_z`       ``prior.log_rate(Z, t)``
how many columns      :math:`\Lambda`           ``prior.expected_features(t)``
who shares how much   law of :math:`R_{ij}`     ``prior.sharing(t)``, ``prior.expected_sharing(t)``
====================  ========================  ===========================================================

Covariates ``t`` are anything `Proximity.from_covariates` takes, or a ready-made `Proximity`; for exchangeable priors
the number of rows.

A new decay or prior is one file: a frozen dataclass that derives from `ddibp.proximity.Decay` or from
`ddibp._spec.Spec`, and a line in the registry (`ddibp.registry.register_decay`, `ddibp.registry.register_prior`), from
which the command line and the tests take their lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ddibp._random import RandomState
from ddibp.laws import SharingLaw

Schedule: TypeAlias = "Sequence[tuple[str, float]]"
"""Moves by name with their frequency: how often each runs in an iteration."""


class Draw(NamedTuple):
    """A feature matrix with its causes.

    Attributes
    ----------
    Z : ndarray of bool, shape (n_rows, n_features)
        ``Z[i, k]`` tells whether row i has feature k.
    owners : ndarray of int, shape (n_features,)
        The row that owns each feature.
    links : ndarray of int, shape (n_rows, n_features)
        The row that each row links to for each feature; the owner's own link has no effect.

    Examples
    --------
    >>> from ddibp import DDIBP, Exponential
    >>> draw = DDIBP(Exponential(1.0), alpha=2.0, sequential=True).sample([0.0, 1.0], rng=2, return_causes=True)
    >>> draw.Z.astype(int).tolist(), draw.owners.tolist(), draw.links.tolist()
    ([[1, 0], [1, 1]], [0, 1], [[0, 0], [0, 0]])
    """

    Z: NDArray[np.bool_]
    owners: NDArray[np.int32]
    links: NDArray[np.int32]


@runtime_checkable
class Prior(Protocol):
    """A law over binary feature matrices whose columns carry no order."""

    def sample(self, covariates: Any, *, rng: RandomState = None) -> Any:
        """Draw a feature matrix of shape (n_rows, n_features)."""

    def sharing(self, covariates: Any) -> SharingLaw:
        r"""Return the law of the number of shared features :math:`R_{ij} = \sum_k z_{ik} z_{jk}`."""

    def expected_sharing(self, covariates: Any) -> NDArray[np.float64]:
        r"""Return the matrix of :math:`E[R_{ij}]`."""


@runtime_checkable
class FeatureProcess(Prior, Protocol):
    r"""A prior under which the columns equal to a pattern z number Poisson(:math:`\rho_z`), independently."""

    def logpmf(self, Z: Any, covariates: Any = None) -> float:
        """Return the log probability of the class of matrices that differ from Z by the order of columns."""

    def log_rate(self, Z: Any, covariates: Any = None) -> NDArray[np.float64]:
        r"""Return :math:`\log \rho_z` for every column of Z."""

    def expected_features(self, covariates: Any) -> float:
        r"""Return the expected number of columns :math:`\Lambda = \sum_z \rho_z`."""
