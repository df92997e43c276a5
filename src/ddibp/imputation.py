"""Missing entries of a table, filled in by latent features, as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ddibp import _check
from ddibp.estimators import FeatureModel
from ddibp.prediction import Prediction, predict

FloatArray = NDArray[np.float64]

_DRAWS_OF_INTERVALS = 1000


class Interval(NamedTuple):
    """Ends of the intervals that hold missing entries, in tables whose observed entries are as they were."""

    low: FloatArray
    high: FloatArray


class LatentFeatureImputer(TransformerMixin, FeatureModel):  # type: ignore[misc]
    r"""Fill in what is missing by posterior means under latent features: :math:`X = ZW + \varepsilon`.

    Observed entries come back bit for bit. Entries may be missing in any pattern, whole rows included: they are then
    predicted from their covariates.

    Parameters
    ----------
    prior, likelihood, draws, tune, chains, n_jobs, random_state, progress
        As in `LatentFeatures`.
    covariate_columns : str, int, slice, list of these, or None
        Columns of X that are covariates, by name or by position, as in `LatentFeatures`. They are taken out of X: the
        imputed table has the columns of data alone, which `get_feature_names_out` names.
    scale : {"standardize", "center", None}
        What to do with the columns of data before the fit. Imputations are in the units of X in any case. The model
        has no intercept and one scale for all columns, so that raw tables want to be standardised.

    Attributes
    ----------
    imputation_sd_ : ndarray of float, shape (n_rows, n_outputs)
        Standard deviation of every missing entry of the fitted table; 0 where it was observed.
    posterior_ : Posterior
        All draws, of the scaled data. Its rows are sorted if the prior is sequential: row r is ``row_order_[r]`` of X.
    prior_, likelihood_, center_, scale_, row_order_, seed_, n_features_in_, feature_names_in_
        As in `LatentFeatures`.

    See Also
    --------
    LatentFeatures : the features themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from ddibp import DDIBP, Exponential, LatentFeatureImputer
    >>> t = np.arange(20.0)
    >>> X = np.outer(t >= 10, [2.0, -1.0, 3.0]) + 0.1 * np.random.default_rng(0).normal(size=(20, 3))
    >>> X[4, 0] = X[15, 1] = np.nan
    >>> imputer = LatentFeatureImputer(DDIBP(Exponential(0.5)), draws=200, tune=50, chains=2)
    >>> full = imputer.fit_transform(X, covariates=t)
    >>> bool(abs(full[4, 0] - 0.0) < 0.2), bool(abs(full[15, 1] + 1.0) < 0.2)
    (True, True)
    >>> bool(imputer.imputation_sd_[4, 0] < 0.3)
    True
    """

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
        scale: str | None = "standardize",
    ) -> None:
        super().__init__(
            prior,
            likelihood,
            draws=draws,
            tune=tune,
            chains=chains,
            n_jobs=n_jobs,
            random_state=random_state,
            progress=progress,
            covariate_columns=covariate_columns,
            scale=scale,
        )

    def fit(self, X: Any, y: Any = None, covariates: Any = None) -> Self:  # noqa: ARG002
        """Draw features, weights and missing entries from their posterior given a table.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Data, NaN where missing.
        y : None
            Not used.
        covariates : array-like of shape (n_rows,) or (n_rows, n_columns), optional
            Time, place, age, ... of every row, if these are not columns of X.

        Returns
        -------
        LatentFeatureImputer
            The estimator.
        """
        self._fitted_table = self._fit(X, covariates)
        found = self.posterior_.imputations()
        self._means = self._spread(found.mean) * self.scale_ + self.center_
        self.imputation_sd_ = self._spread(found.sd) * self.scale_
        return self

    def fit_transform(self, X: Any, y: Any = None, covariates: Any = None) -> Any:
        """Fit, and return the table with posterior means in place of what is missing."""
        return self.fit(X, y, covariates=covariates).transform(X, covariates=covariates)

    def transform(self, X: Any, covariates: Any = None) -> Any:
        """Return a table with posterior means in place of what is missing.

        The fitted table itself gets the means over all draws. Any other row counts as new, stands alone, and takes
        after fitted rows, of which nothing changes; see `ddibp.prediction`. Its missing entries are averaged over 100
        draws, weighted by how well each foresees what was observed of the row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            A table like that of `fit`.
        covariates : array-like, optional
            As in `fit`, between or beyond those of the fitted rows.

        Returns
        -------
        ndarray of float, shape (n_rows, n_outputs)
            The columns of data; observed entries are what they were.
        """
        data, t = self._new_rows(X, covariates)
        missing = np.isnan(data)
        if self._is_fitted(data, t):
            return np.where(missing, self._means, data)
        rows = np.flatnonzero(missing.any(axis=1))
        filled = data.copy()
        if rows.size:
            found = self._predict(data[rows], t, rows)
            filled[rows] = np.where(missing[rows], found.mean * self.scale_ + self.center_, data[rows])
        return filled

    def sample_imputations(self, X: Any = None, covariates: Any = None, *, n_draws: int = 1) -> FloatArray:
        """Return draws of the whole table, for multiple imputation: analyse each, then pool what comes out.

        Parameters
        ----------
        X, covariates
            As in `transform`; None is the fitted table.
        n_draws : int
            Number of tables. Of the fitted one there are as many as posterior draws are stored.

        Returns
        -------
        ndarray of float, shape (n_draws, n_rows, n_outputs)
            Tables in which missing entries are drawn, noise included, and observed ones are what they were.
        """
        n_draws = _check.count("n_draws", n_draws, low=1)
        data, t = self._table(X, covariates)
        missing = np.isnan(data)
        if self._is_fitted(data, t):
            drawn = self.posterior_.imputation_draws(n_draws)
            if len(drawn) < n_draws:
                raise ValueError(f"n_draws must be at most {len(drawn)}, the number of posterior draws, got {n_draws}.")
            tables = np.stack([self._spread(values) for values in drawn])
        else:
            tables = self._predict(data, t, np.arange(len(data)), n_draws).completions
        return np.where(missing, tables * self.scale_ + self.center_, data)

    def imputation_interval(self, X: Any = None, covariates: Any = None, *, probability: float = 0.9) -> Interval:
        """Return the ends of the central interval that holds each missing entry with this probability.

        Parameters
        ----------
        X, covariates
            As in `transform`; None is the fitted table.
        probability : float
            That of each interval.

        Returns
        -------
        Interval
            Tables ``low`` and ``high``, of which observed entries are what they were.
        """
        probability = _check.number("probability", probability, low=0.0, high=1.0)
        data, t = self._table(X, covariates)
        if self._is_fitted(data, t):
            ends = [self._spread(end) for end in self.posterior_.imputation_interval(probability)]
        else:
            drawn = self._predict(data, t, np.arange(len(data)), _DRAWS_OF_INTERVALS).completions
            ends = list(np.quantile(drawn, [0.5 - 0.5 * probability, 0.5 + 0.5 * probability], axis=0))
        return Interval(*(np.where(np.isnan(data), end * self.scale_ + self.center_, data) for end in ends))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of data."""
        check_is_fitted(self, "posterior_")
        return np.asarray(_check_feature_names_in(self, input_features)[self._columns])

    def _table(self, X: Any, covariates: Any) -> tuple[FloatArray, Any]:
        check_is_fitted(self, "posterior_")
        if X is not None:
            return self._new_rows(X, covariates)
        if covariates is not None:
            raise ValueError("covariates must be left out with X=None, which stands for the fitted table.")
        return self._fitted_table

    def _is_fitted(self, data: FloatArray, t: Any) -> bool:
        """Return whether this is the table that was fitted."""
        known, place = self._fitted_table
        same_place = t is place or (isinstance(t, np.ndarray) and np.array_equal(t, place))
        return same_place and np.array_equal(data, known, equal_nan=True)

    def _predict(self, data: FloatArray, t: Any, rows: NDArray[np.intp], completions: int = 0) -> Prediction:
        place = t if t is None or len(rows) == t.shape[0] else t[rows]
        return predict(
            self.posterior_, self._scaled(data), place, completions=completions, prior=self.prior_, rng=self.seed_
        )

    def _spread(self, values: FloatArray) -> FloatArray:
        """Return a table with values, as the posterior orders them, where the fitted one has none, and 0 elsewhere."""
        table = np.zeros(self.posterior_.missing.shape)
        table[self.posterior_.missing] = values
        result = np.empty_like(table)
        result[self.row_order_] = table
        return result
