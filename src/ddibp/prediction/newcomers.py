"""New rows among the rows of a posterior."""

from __future__ import annotations

from typing import Any

from ddibp.priors._newcomers import Newcomers, Places
from ddibp.sampling.posterior import Posterior


def newcomers(posterior: Posterior, n_new: int, covariates: Any, groups: Any, prior: Any = None) -> Newcomers:
    """Return what the prior says of new rows; the posterior's own prior, unless one is given."""
    prior = posterior.prior if prior is None else prior
    if not callable(getattr(prior, "newcomers", None)):
        raise TypeError(f"prior must be one of ddibp's (IBP, DDIBP, ...) for rows to be predicted, got {prior!r}.")
    places = Places(len(posterior.observed), n_new, posterior.context, covariates, groups)
    found: Newcomers = prior.newcomers(places)
    return found
