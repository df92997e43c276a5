"""One self-contained HTML page about a posterior: what was fitted, whether to trust it, and what was found.

Examples
--------
>>> import tempfile
>>> from pathlib import Path
>>> from ddibp import IBP, LinearGaussian, report, sample_posterior
>>> posterior = sample_posterior(IBP(1.0), LinearGaussian(1.0, 1.0), [[1.0], [2.0]], draws=10, tune=0, chains=2)
>>> path = report.write_report(posterior, Path(tempfile.mkdtemp()) / "report.html", column_names=["height"])
>>> path.read_text().startswith("<!doctype html>")
True
"""

from ddibp.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
