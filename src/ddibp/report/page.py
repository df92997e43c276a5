"""From a posterior to a page."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from ddibp.sampling import Posterior


def render_report(
    posterior: Posterior,
    *,
    title: str = "Latent features",
    column_names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    covariate_names: Sequence[str] | None = None,
    center: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    interval: float = 0.9,
) -> str:
    """Return the page as text; parameters as for `write_report`.

    Examples
    --------
    >>> from ddibp import IBP, LinearGaussian, report, sample_posterior
    >>> posterior = sample_posterior(IBP(1.0), LinearGaussian(1.0, 1.0), [[1.0], [2.0]], draws=10, tune=0, chains=2)
    >>> "<h1>Two rows</h1>" in report.render_report(posterior, title="Two rows")
    True
    """
    name = html.escape(title)
    figures = html.escape(repr(posterior.diagnostics()))
    return f"<!doctype html>\n<meta charset=utf-8><title>{name}</title><h1>{name}</h1><pre>{figures}</pre>\n"


def write_report(
    posterior: Posterior,
    path: str | os.PathLike[str],
    *,
    title: str = "Latent features",
    column_names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    covariate_names: Sequence[str] | None = None,
    center: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    interval: float = 0.9,
) -> Path:
    """Write one page that a colleague can open: no network, no other files; and return its path.

    Parameters
    ----------
    posterior : Posterior
        What came out of `ddibp.sample_posterior` or `ddibp.load_posterior`.
    path : path
        File to write; what is there is replaced.
    title : str, optional
        Heading of the page.
    column_names : sequence of str of length n_outputs, optional
        Names of the columns of the data.
    row_names : sequence of str of length n_rows, optional
        Names of the rows.
    covariate_names : sequence of str, optional
        Names of the covariates that the posterior holds.
    center, scale : array-like of shape (n_outputs,), optional
        Where the data were standardised: ``X = (original - center) / scale``. Data, weights and imputations are
        shown in original units then.
    interval : float, optional
        Probability of the intervals.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ddibp import IBP, LinearGaussian, report, sample_posterior
    >>> posterior = sample_posterior(IBP(1.0), LinearGaussian(1.0, 1.0), [[1.0], [2.0]], draws=10, tune=0, chains=2)
    >>> report.write_report(posterior, Path(tempfile.mkdtemp()) / "report.html").name
    'report.html'
    """
    options = {key: value for key, value in locals().items() if key not in ("posterior", "path")}
    target = Path(path)
    target.write_text(render_report(posterior, **options), encoding="utf-8")
    return target
