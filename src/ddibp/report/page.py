"""From a posterior to a page."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ddibp import _check
from ddibp.plots import _axes
from ddibp.report import charts, explorer, model
from ddibp.report.labels import Labels, figure

if TYPE_CHECKING:
    from ddibp.sampling import Posterior

_ASSETS = Path(__file__).parent / "assets"
_SCRIPTS = ("numbers.js", "scene.js", "explorer.js", "table.js")
_LARGEST_RHAT = 1.01
_LEAST_ESS_PER_CHAIN = 100


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
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    posterior = _axes.require_posterior(posterior)
    interval = _check.number("interval", interval, low=0.0, high=1.0)
    labels = Labels.of(posterior, column_names, row_names, covariate_names, center, scale)
    environment = Environment(
        loader=FileSystemLoader(_ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["figure"] = figure
    script = '"use strict";\n' + "\n".join((_ASSETS / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return environment.get_template("page.html").render(
        title=str(title),
        style=Markup((_ASSETS / "style.css").read_text(encoding="utf-8")),
        script=Markup(script),
        # Only this script may run: what users' files smuggle into names cannot, even if it got past the escaping.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
        as_json=lambda value: Markup(_safe_json(value)),
        interval=f"{100 * interval:g} %",
        **_contents(posterior, labels, interval),
    )


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

    Large data are thinned, so that the page stays below 3 MB; it says what it leaves out.

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
    center, scale : float or array-like of shape (n_outputs,), optional
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
    page = render_report(
        posterior,
        title=title,
        column_names=column_names,
        row_names=row_names,
        covariate_names=covariate_names,
        center=center,
        scale=scale,
        interval=interval,
    )
    target = Path(path)
    target.write_text(page, encoding="utf-8")
    return target


def _contents(posterior: Posterior, labels: Labels, interval: float) -> dict[str, Any]:
    n, M = posterior.observed.shape
    findings = explorer.Findings.of(posterior, labels)
    law = posterior.n_features_law()
    low, high = (int(q) for q in np.quantile(posterior.n_features, [0.05, 0.95], method="nearest"))
    view, view_notes = explorer.view(posterior, findings, labels)
    imputations, imputation_notes = explorer.imputations(posterior, labels, interval)
    return {
        "n": n,
        "M": M,
        "n_missing": int(posterior.missing.sum()),
        "n_chains": posterior.n_chains,
        "n_draws": posterior.n_draws,
        "facts": model.facts(posterior, labels),
        "parameters": model.parameters(posterior, interval),
        "warnings": posterior.warnings,
        "diagnostics": _diagnostics(posterior),
        "moves": _moves(posterior),
        "law": {
            "bars": charts.bars(law),
            "mode": max(law, key=law.__getitem__),
            "share": f"{100 * max(law.values()):.0f} %",
            "low": low,
            "high": high,
        },
        "decay": charts.decay(posterior, interval),
        "view": view,
        "view_notes": view_notes,
        "features": explorer.feature_table(findings, labels),
        "weights": explorer.weight_table(findings, labels),
        "imputations": imputations,
        "imputation_notes": imputation_notes,
        "has_covariates": bool(labels.covariates),
        "covariate": labels.covariates[0][0] if labels.covariates else "row",
        "snippet": model.snippet(posterior),
        "fingerprint": posterior.settings.get("data", ""),
        "versions": model.versions(posterior),
        "written": datetime.now().strftime("%Y-%m-%d %H:%M"),
    }


def _diagnostics(posterior: Posterior) -> dict[str, Any]:
    found = posterior.diagnostics()
    draws = posterior.data["posterior"]
    lines = []
    for name, x in found.scalars.items():
        symbol, meaning = model.symbol(name)
        lines.append(
            {
                "name": name,
                "symbol": symbol,
                "meaning": meaning,
                "mean": figure(x.mean, 4),
                "sd": figure(x.sd),
                "constant": x.sd == 0.0,
                "rhat": figure(x.rhat, 4),
                "bad_rhat": x.rhat > _LARGEST_RHAT,
                "bulk": figure(x.ess_bulk),
                "tail": figure(x.ess_tail),
                "bad_ess": min(x.ess_bulk, x.ess_tail) < _LEAST_ESS_PER_CHAIN * posterior.n_chains,
                "traces": charts.traces(draws[name].to_numpy()),
            }
        )
    moving = [x for x in found.scalars.values() if x.sd != 0.0]
    rhats = [x.rhat for x in moving if np.isfinite(x.rhat)]
    sizes = [min(x.ess_bulk, x.ess_tail) for x in moving if np.isfinite(x.ess_bulk)]
    return {
        "lines": lines,
        "largest_rhat": figure(max(rhats), 4) if rhats else None,
        "least_ess": figure(min(sizes)) if sizes else None,
    }


def _moves(posterior: Posterior) -> list[dict[str, str]]:
    found = posterior.diagnostics().moves
    shares = {name: float(np.nan_to_num(m.time_share)) for name, m in found.items()}
    most = max(shares.values(), default=0.0) or 1.0
    return [
        {
            "name": name,
            "tried": f"{found[name].tried:,}",
            "accepted": f"{100 * found[name].accepted / found[name].tried:.1f} %" if found[name].tried else "–",
            "acceptance": f"{100 * found[name].accepted / max(found[name].tried, 1):.1f}",
            "time": f"{100 * share:.1f} %",
            "time_bar": f"{100 * share / most:.1f}",
        }
        for name, share in sorted(shares.items(), key=lambda item: -item[1])
    ]


def _safe_json(value: Any) -> str:
    """Return JSON that cannot end its script element, nor say what JSON cannot hold."""
    text = json.dumps(_without_nan(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
