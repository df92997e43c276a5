r"""The priors that the experiments compare, by name.

To add one, write its line in ``MODELS``: a function of :math:`\beta` and the covariates that returns the prior.

All masses are learned under Gamma(1, 1), as are the concentrations of the dHBP under Gamma(2, 1): a fixed mass would
compare numbers of features rather than laws of sharing. At equal masses :math:`E[R_i]` is the mass under every prior
here, because distances are sequential (rows in the order of their covariate; the AIBD's rows arrive in that order).

:math:`\beta` is the rate of the exponential decay. The dIBP has no decay; its length scale is :math:`1/\beta`. Where
:math:`\beta = 0`, the dd-IBP and the AIBD are the IBP; the dHBP and the dIBP are not. Models called "learned" have no
:math:`\beta` but a prior on it (or on the length scale) around the distances of the covariate, see
``ddibp.registry`` and the estimators' defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ddibp import AIBD, DDIBP, DHBP, DIBP, IBP, Exponential, Gamma, LinearGaussian
from ddibp._defaults import learned_prior

MASS = Gamma(1.0, 1.0)
CONCENTRATION = Gamma(2.0, 1.0)
_LONGEST = 1e6  # stands for the infinite length scale of beta = 0


def _dhbp(beta: float, coupling: str) -> DHBP:
    """Return a dHBP whose mass and concentrations are learned."""
    return DHBP(Exponential(beta), gamma=MASS, c0=CONCENTRATION, c1=CONCENTRATION, sequential=True, coupling=coupling)


def _dibp(length_scale: float) -> DIBP:
    return DIBP("rbf", alpha=MASS, length_scale=min(length_scale, _LONGEST))


MODELS: dict[str, Callable[[float, Any], Any]] = {
    "dd-IBP": lambda beta, _: DDIBP(Exponential(beta), alpha=MASS, sequential=True),
    "IBP": lambda _beta, _: IBP(MASS),
    "dHBP": lambda beta, _: _dhbp(beta, "customer"),
    "dHBP, dish": lambda beta, _: _dhbp(beta, "dish"),
    "dIBP": lambda beta, _: _dibp(1.0 / max(beta, 1.0 / _LONGEST)),
    "AIBD": lambda beta, _: AIBD(Exponential(beta), alpha=MASS),
    "dd-IBP, learned": lambda _beta, t: learned_prior("ddibp", t, {"alpha": MASS, "sequential": True}),
    "dIBP, learned": lambda _beta, t: learned_prior("dibp", t, {"alpha": MASS}),
}
WITHOUT_BETA = ("IBP", "dd-IBP, learned", "dIBP, learned")


def prior(name: str, beta: float | None = None, covariates: Any = None) -> Any:
    """Return one prior.

    Parameters
    ----------
    name : str
        A key of ``MODELS``.
    beta : float, optional
        Rate of the decay; not needed by those in ``WITHOUT_BETA``.
    covariates : array-like, optional
        Of the rows; needed by those that are "learned".

    Examples
    --------
    >>> from ddibp.experiments import models
    >>> models.prior("AIBD", 0.5).decay
    Exponential(beta=0.5)
    """
    if name not in MODELS:
        raise ValueError(f"there is no model {name!r}; there are {', '.join(MODELS)}.")
    if beta is None and name not in WITHOUT_BETA:
        raise ValueError(f"beta must be given for the model {name!r}.")
    if covariates is None and name.endswith("learned"):
        raise ValueError(f"covariates must be given for the model {name!r}.")
    return MODELS[name](0.0 if beta is None else beta, covariates)


def priors(beta: float, covariates: Any = None) -> dict[str, Any]:
    """Return all priors by name, at one beta; those that are "learned" only if covariates are given.

    Examples
    --------
    >>> from ddibp.experiments import models
    >>> list(models.priors(0.5))
    ['dd-IBP', 'IBP', 'dHBP', 'dHBP, dish', 'dIBP', 'AIBD']
    """
    return {
        name: make(beta, covariates)
        for name, make in MODELS.items()
        if covariates is not None or not name.endswith("learned")
    }


def covariates_for(prior: Any, covariates: Any) -> Any:
    """Return what a fit under the prior is given: the covariates, or nothing for the IBP."""
    return covariates if getattr(prior, "takes_covariates", False) else None


def likelihood() -> LinearGaussian:
    """Return the likelihood of standardised data: both scales learned under Gamma(1, 1)."""
    return LinearGaussian(Gamma(1.0, 1.0), Gamma(1.0, 1.0))
