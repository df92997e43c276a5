"""Latent features as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ddibp import _check, _defaults, _tables, registry
from ddibp._random import as_generator
from ddibp._spec import Spec
from ddibp.hyperpriors import Gamma
from ddibp.likelihoods import LinearGaussian
from ddibp.prediction import extend, predict
from ddibp.priors import IBP
from ddibp.priors.ibp import count_rows
from ddibp.sampling import sample_posterior

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_SCALES_APART = 100.0


class FeatureModel(BaseEstimator):  # type: ignore[misc]
    """What `LatentFeatures` and `LatentFeatureImputer` have in common: tables in, a posterior, tables of new rows."""

    def __init__(
        self,
        prior: Any = None,
        likelihood: Any = None,
        *,
        draws: int = 1000,
        tune: int = 500,
        chains: int = 4,
        n_jobs: int | None = None,
        random_state: Any = 0,
        progress: bool = False,
        covariate_columns: Any = None,
        scale: str | None = None,
    ) -> None:
        self.prior = prior
        self.likelihood = likelihood
        self.draws = draws
        self.tune = tune
        self.chains = chains
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.covariate_columns = covariate_columns
        self.scale = scale

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator, and of its prior and likelihood: ``prior__decay__beta=0.2``.

        Priors and likelihoods are immutable values, so that a changed copy takes the place of the former.
        """
        nested = {name: value for name, value in params.items() if name.startswith(("prior__", "likelihood__"))}
        super().set_params(**{name: value for name, value in params.items() if name not in nested})
        for name, value in nested.items():
            outer, _, inner = name.partition("__")
            spec = getattr(self, outer)
            spec = registry.make_prior(spec) if isinstance(spec, str) else spec
            if not isinstance(spec, Spec):
                raise ValueError(f"{outer} is {spec!r}, which has no parameter {inner!r}; give {outer} itself first.")
            setattr(self, outer, spec.set_params(**{inner: value}))
        return self

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn wants to know: NaN is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _fit(self, X: Any, covariates: Any) -> tuple[FloatArray, Any]:
        """Draw from the posterior; return the data, and the covariates that matter, in the caller's order."""
        _check.choice("scale", self.scale, (None, "center", "standardize"))  # type: ignore[arg-type]
        data, t = self._validated(X, covariates, reset=True)
        self._choose_scale(data)
        self.prior_ = self._chosen_prior(t)
        self.likelihood_ = self._chosen_likelihood(data)
        place = t if self._takes_covariates else None
        self.row_order_ = np.arange(len(data))
        if getattr(self.prior_, "sequential", False) and np.ndim(t) == 1 and len(t) == len(data):
            self.row_order_ = np.argsort(t, kind="stable")
            t = t[self.row_order_]
        self.seed_ = self._seed()
        self.posterior_ = sample_posterior(
            self.prior_,
            self.likelihood_,
            self._scaled(data)[self.row_order_],
            t,
            draws=self.draws,
            tune=self.tune,
            chains=self.chains,
            seed=self.seed_,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )
        return data, place

    def _validated(self, X: Any, covariates: Any, *, reset: bool) -> tuple[FloatArray, Any]:
        """Return the data and the covariates of a table."""
        options: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        t: Any = None
        if self.covariate_columns is None:
            data = validate_data(self, X, reset=reset, **options)
            if reset:
                self._columns = list(range(data.shape[1]))
            t = covariates if covariates is None else _tables.as_covariates(covariates)
        elif covariates is not None:
            raise ValueError("covariates must not be given beside covariate_columns, which takes them out of X.")
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)
            data, t, columns = _tables.split(X, self.covariate_columns)
            data = check_array(data, **options)
            if reset:
                self._columns = columns
        if np.ndim(t) == 2 and np.shape(t)[1] == 1:
            t = t[:, 0]
        return data, t

    def _new_rows(self, X: Any, covariates: Any) -> tuple[FloatArray, Any]:
        """Return data and covariates of rows to be predicted."""
        check_is_fitted(self, "posterior_")
        data, t = self._validated(X, covariates, reset=False)
        if not self._takes_covariates:
            return data, None
        if t is None:
            raise ValueError("covariates must be given, as they were when the prior was fitted.")
        if count_rows(t) != len(data):
            raise ValueError(f"covariates describe {count_rows(t)} rows, but X has {len(data)}; they must match.")
        return data, t

    def _seed(self) -> int:
        """Return the seed of a fit: the integer given, or one drawn from what was given."""
        state = self.random_state
        if isinstance(state, np.random.RandomState):
            return int(state.randint(2**31))
        if isinstance(state, (int, np.integer)) and not isinstance(state, bool):
            as_generator(state, "random_state")
            return int(state)
        return int(as_generator(state, "random_state").integers(2**31))

    @property
    def _takes_covariates(self) -> bool:
        return bool(getattr(self.prior_, "takes_covariates", False))

    def _chosen_prior(self, t: Any) -> Any:
        if self.prior is None:
            return IBP() if t is None else default_prior(t)
        prior = registry.make_prior(self.prior) if isinstance(self.prior, str) else self.prior
        takes = getattr(prior, "takes_covariates", False)
        if takes and t is None:
            raise ValueError(
                f"covariates must be given for the prior {type(prior).__name__}, a time, a place, ... per row: pass "
                "covariates= to fit, or name columns of X by covariate_columns=."
            )
        return default_prior(t, self.prior) if isinstance(self.prior, str) and takes else prior

    def _chosen_likelihood(self, data: FloatArray) -> Any:
        if self.likelihood is not None:
            return self.likelihood
        spread = float(np.nanstd(self._scaled(data))) if not np.isnan(data).all() else 1.0
        law = Gamma(1.0, 1.0 / spread) if spread > 0.0 else Gamma()
        return LinearGaussian(law, law)

    def _choose_scale(self, data: FloatArray) -> None:
        """Set ``center_`` and ``scale_``, and warn of columns whose scales are far apart."""
        counts = (~np.isnan(data)).sum(axis=0)
        means = np.nansum(data, axis=0) / np.maximum(counts, 1)
        sds = np.sqrt(np.nansum((data - means) ** 2, axis=0) / np.maximum(counts, 1))
        self.center_ = np.zeros(data.shape[1]) if self.scale is None else means
        self.scale_ = np.ones(data.shape[1])
        if self.scale == "standardize":
            self.scale_[sds > 0.0] = sds[sds > 0.0]
        varying = np.flatnonzero(sds > 0.0)
        if self.scale == "standardize" or not varying.size:
            return
        least, most = varying[np.argmin(sds[varying])], varying[np.argmax(sds[varying])]
        if sds[most] > _SCALES_APART * sds[least]:
            names = self._data_names()
            warnings.warn(
                f"The standard deviations of the columns go from {sds[least]:.2g} ({names[least]}) to {sds[most]:.2g} "
                f"({names[most]}), but the model has one scale of noise and one of weights: small columns will hardly "
                "count. scale='standardize' gives all the same scale.",
                UserWarning,
                stacklevel=4,
            )

    def _data_names(self) -> NDArray[Any]:
        """Return the names of the columns of data."""
        names = getattr(self, "feature_names_in_", np.array([f"x{j}" for j in range(self.n_features_in_)], object))
        return np.asarray(names[self._columns])

    def _scaled(self, data: FloatArray) -> FloatArray:
        return np.asarray((data - self.center_) / self.scale_)


class LatentFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FeatureModel):  # type: ignore[misc]
    r"""Binary latent features of the rows of a table, as many as the data ask for: :math:`X = ZW + \varepsilon`.

    Parameters
    ----------
    prior : IBP, DDIBP, DHBP, AIBD, DIBP, str or None
        Law of the features, or its registered name. None is an `IBP` if there are no covariates, and otherwise a
        `DDIBP`. Of a prior by name, the decay or the length scale is learned around the distances of the data (see
        `default_prior`).
    likelihood : LinearGaussian or None
        Law of the data given the features. None is a `LinearGaussian` whose two scales are learned, each with an
        exponential prior whose mean is the standard deviation of the data.
    draws, tune, chains : int
        Draws to keep of every chain, iterations before the first, and number of chains.
    n_jobs : int or None
        Chains at the same time, as in `sample_posterior`. The result does not depend on it.
    random_state : int, RandomState, Generator, SeedSequence or None
        Fixes the result, of `fit` and of everything after it.
    progress : bool
        Whether to show bars, where there is a terminal.
    covariate_columns : str, int, slice, list of these, or None
        Columns of X that are covariates, by name or by position: they are taken out of X, so that no covariates have to
        be passed and any pipeline works. Dates and times, NumPy's, pandas', polars' or ISO 8601 text, count in days
        since 1970 (UTC), and durations in days; a decay of 1 then is one per day.
    scale : {None, "center", "standardize"}
        What to do with the columns of data first: nothing, subtract their means, or divide by their standard deviations
        as well. The model has no intercept, so that None gives features for what all rows have in common, too.

    Attributes
    ----------
    features_ : ndarray of bool, shape (n_rows, n_features)
        Features of the fitted rows in the best draw (`Posterior.map`), in the order of the rows of X.
    weights_ : ndarray of float, shape (n_features, n_outputs)
        Mean of the weights given these features, in the units of X.
    n_features_ : int
        How many features the best draw has; ``posterior_.n_features_law()`` tells how certain that is.
    posterior_ : Posterior
        All draws, of the scaled data. Its rows are sorted if the prior is sequential: row r is ``row_order_[r]`` of X.
    prior_, likelihood_ : prior, LinearGaussian
        The model in use.
    center_, scale_ : ndarray of float, shape (n_outputs,)
        What was subtracted from the columns of data, and what they were divided by.
    row_order_ : ndarray of int, shape (n_rows,)
        Order of the rows of X in the posterior: that of time for a sequential prior of one covariate (rows of equal
        covariate stay in the order in which they stand), and theirs otherwise.
    seed_ : int
        The seed in use.
    n_features_in_, feature_names_in_
        Number and names of the columns of X, covariates included.

    See Also
    --------
    LatentFeatureImputer : fills in what is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import DDIBP, Exponential, LatentFeatures
    >>> t = np.arange(20.0)
    >>> X = np.outer(t >= 10, [2.0, -1.0]) + 0.1 * np.random.default_rng(0).normal(size=(20, 2))
    >>> prior = DDIBP(Exponential(0.5), sequential=True)
    >>> model = LatentFeatures(prior, draws=100, tune=50, chains=2).fit(X, covariates=t)
    >>> model.features_[:, 0].astype(int)
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    >>> model.transform([[2.1, np.nan], [0.0, 0.1]], covariates=[14.5, 30.0]).round(2)
    array([[1.],
           [0.]])
    """

    __metadata_request__inverse_transform = {"Z": UNUSED}  # noqa: RUF012

    def fit(self, X: Any, y: Any = None, covariates: Any = None) -> Self:  # noqa: ARG002
        """Draw features from their posterior given a table.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Data, NaN where missing.
        y : None
            Not used.
        covariates : array-like of shape (n_rows,) or (n_rows, n_columns), optional
            Time, place, age, ... of every row, if these are not columns of X; dates and times count in days. An IBP
            does not look at them.

        Returns
        -------
        LatentFeatures
            The estimator.
        """
        self._fit(X, covariates)
        best = self.posterior_.map()
        numbers = {name: best.scalars[name] for name in ("sigma_x", "sigma_w")}
        weights = self.likelihood_.set_params(**numbers).weights(self.posterior_.observed, best.Z)
        self.features_ = np.empty_like(best.Z)
        self.features_[self.row_order_] = best.Z
        self.weights_ = weights.mean * self.scale_
        self.n_features_ = best.Z.shape[1]
        return self

    def fit_transform(self, X: Any, y: Any = None, covariates: Any = None) -> Any:
        """Fit, then `transform` the same rows, as if they were new; ``features_`` has those that were fitted."""
        return self.fit(X, y, covariates=covariates).transform(X, covariates=covariates)

    def transform(self, X: Any, covariates: Any = None) -> Any:
        r"""Return the probability of every feature of ``weights_`` in each row.

        Rows count as new, whether they were fitted or not, and each stands alone. Under the dd-IBP, a new row may link
        to fitted rows, of which nothing changes: with :math:`f` the decay at the distances d to them, it has feature k
        with prior probability :math:`p_k = \sum_j f(d_j) z_{jk} / h`, where :math:`h = f(0) + \sum_j f(d_j)`, and
        Poisson(:math:`\alpha/h`) features that no fitted row has; what was observed of the row turns that into the
        posterior that is returned. Under a sequential prior, j runs over the fitted rows that are not later. The
        dd-IBP is not marginally invariant (with the new row among the fitted ones these would have had another law), so
        this is a definition; it is the prior's own law for rows that follow the fitted ones of a sequential prior, and
        for the IBP, where :math:`p_k = m_k/(N + 1)`. Fitted rows stay as they are under the other priors, too:
        `ddibp.prediction` has their laws.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            A table like that of `fit`. Entries may be NaN; rows of which nothing is known are predicted.
        covariates : array-like, optional
            As in `fit`, between or beyond those of the fitted rows.

        Returns
        -------
        ndarray of float, shape (n_rows, n_features)
            Posterior means of the features.
        """
        data, t = self._new_rows(X, covariates)
        return extend(self.posterior_, self._scaled(data), t, prior=self.prior_, rng=self.seed_).probabilities

    def sample_features(self, X: Any, covariates: Any = None, *, n_draws: int = 1) -> BoolArray:
        """Return joint draws of the features of each row, of which `transform` is the mean.

        Parameters
        ----------
        X, covariates
            As in `transform`.
        n_draws : int
            Number of draws.

        Returns
        -------
        ndarray of bool, shape (n_draws, n_rows, n_features)
            The draws.
        """
        data, t = self._new_rows(X, covariates)
        n_draws = _check.count("n_draws", n_draws, low=1)
        return extend(self.posterior_, self._scaled(data), t, draws=n_draws, prior=self.prior_, rng=self.seed_).draws

    def inverse_transform(self, Z: Any) -> FloatArray:
        """Return the columns of data that features stand for, ZW, in the units of X.

        Parameters
        ----------
        Z : array-like of shape (n_rows, n_features)
            Features, or their probabilities.

        Returns
        -------
        ndarray of float, shape (n_rows, n_outputs)
            Data without noise; covariate columns are not among them.
        """
        check_is_fitted(self, "posterior_")
        Z = check_array(Z, dtype=np.float64, ensure_min_features=0)
        if Z.shape[1] != self.n_features_:
            raise ValueError(f"Z has {Z.shape[1]} columns, but there are {self.n_features_} features; they must match.")
        return np.asarray(Z @ self.weights_ + self.center_)

    def score(self, X: Any, y: Any = None, covariates: Any = None) -> float:  # noqa: ARG002
        """Return the mean log predictive density of rows that were not fitted; higher is better.

        The density of the observed entries of a row, in the units of X, is averaged over 100 posterior draws, with
        weights summed out (`ddibp.prediction.predict`).

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            As in `transform`.
        y : None
            Not used.
        covariates : array-like, optional
            As in `transform`.

        Returns
        -------
        float
            Mean over rows.
        """
        data, t = self._new_rows(X, covariates)
        found = predict(self.posterior_, self._scaled(data), t, prior=self.prior_, rng=self.seed_)
        return float(np.mean(found.log_density - ~np.isnan(data) @ np.log(self.scale_)))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_)


def default_prior(covariates: Any, name: str = "ddibp") -> Any:
    r"""Return the prior of an estimator that was given covariates, and no prior or its name alone.

    Its decay is exponential with :math:`\beta \sim \mathrm{Gamma}(1, \ell)`, where the length is the geometric mean of
    two distances: the median one between rows, and the median one from a row to the nearest other. A kernel has the
    length scale :math:`\mathrm{Gamma}(2, 2/\ell)`, and concentrations of a dHBP have :math:`\mathrm{Gamma}(2, 1)`.

    Parameters
    ----------
    covariates : array-like of shape (n_rows,) or (n_rows, n_columns)
        Where the rows are.
    name : str, optional
        Registered name of a prior that takes covariates.

    Examples
    --------
    >>> from ddibp.estimators import default_prior
    >>> default_prior([0.0, 1.0, 2.0, 3.0, 4.0]).decay
    Exponential(beta=Gamma(shape=1.0, rate=1.41))
    >>> default_prior([0.0, 1.0, 2.0, 3.0, 4.0], "dibp").length_scale
    Gamma(shape=2.0, rate=1.41)
    """
    if hasattr(covariates, "n_rows") or hasattr(covariates, "tocoo"):
        raise ValueError("prior must be given beside covariates that are a Proximity or distances.")
    if _defaults.typical_length(covariates) is None:
        raise ValueError("covariates are the same in all rows; leave them out, or give a prior.")
    return _defaults.learned_prior(name, covariates, {})
