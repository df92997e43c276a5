"""What was fitted, in words, and how to do it again."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

import ddibp
from ddibp._spec import Spec
from ddibp.hyperpriors import Gamma, InverseGamma
from ddibp.report.labels import Labels, figure

if TYPE_CHECKING:
    from ddibp.sampling import Posterior

_HYPERPRIORS = (Gamma, InverseGamma)
_DECAYS = {
    "Constant": "f(d) = 1",
    "Exponential": "f(d) = exp(−β d)",
    "Logistic": "f(d) = 1 / (1 + exp(β d − ν))",
    "Window": "f(d) = 1 for d < ν, else 0",
}
_SYMBOLS = {
    "alpha": ("α", "mass: how many features there are"),
    "beta": ("β", "decay: how fast sharing falls with distance"),
    "nu": ("ν", "decay: how far sharing reaches"),
    "gamma": ("γ", "mass: how many features there are"),
    "c0": ("c₀", "concentration of the base measure"),
    "c1": ("c₁", "concentration of the rows' own measures"),
    "length_scale": ("ℓ", "distance over which rows resemble each other"),
    "variance": ("variance", "of the smooth part of the Gaussian values"),
    "nugget": ("nugget", "variance that a row has to itself"),
    "sigma_x": ("σ_x", "standard deviation of the noise"),
    "sigma_w": ("σ_w", "standard deviation of the weights"),
    "n_features": ("K", "number of features"),
    "log_likelihood": ("log likelihood", "log density of the data given features"),
    "log_prior": ("log prior", "log probability of the features"),
    "log_joint": ("log joint", "log density of data, features and parameters"),
    "reconstruction_norm": ("‖ZW‖", "size of the reconstruction"),
    "mean_sharing": ("mean sharing", "features that two rows share on average"),
}


def symbol(name: str) -> tuple[str, str]:
    """Return how to write a quantity, and what it is."""
    return _SYMBOLS.get(name, (name, ""))


def specification(posterior: Posterior, part: str) -> Any:
    """Return the prior or the likelihood; None if it is not known here, as that of somebody's own sampler."""
    try:
        return getattr(posterior, part)
    except (KeyError, ValueError):
        return None


def facts(posterior: Posterior, labels: Labels) -> list[tuple[str, str]]:
    """Return what was fitted as terms and what they are."""
    n, M = posterior.observed.shape
    holes = int(posterior.missing.sum())
    share = f" ({100 * holes / max(n * M, 1):.2g} %)" if holes else ""
    prior, likelihood = (specification(posterior, part) for part in ("prior", "likelihood"))
    found = [("Data", f"{n:,} rows × {M:,} columns, {f'{holes:,}' if holes else 'no'} entries missing{share}")]
    if labels.center.any() or (labels.scale != 1.0).any():
        found.append(
            ("Units", "original ones for data, weights and imputations; columns were standardised for the fit")
        )
    for name, t in labels.covariates:
        found.append(("Covariate", f"{name}, from {figure(t.min(), 6)} to {figure(t.max(), 6)}"))
    if "groups" in posterior.context:
        apart = "are independent" if hasattr(prior, "kernel") else "share no features"
        found.append(("Groups", f"{len(np.unique(posterior.context['groups'])):,}, which {apart}"))
    found.append(("Prior", _headline(prior, posterior.settings.get("prior"))))
    decay = getattr(prior, "decay", None)
    if decay is not None:
        formula = _DECAYS.get(type(decay).__name__, "")
        found.append(("Decay", f"{type(decay).__name__}{f': {formula}' if formula else ''}"))
        found.append(("Order", _order(prior)))
    if hasattr(prior, "coupling"):
        found.append(("Lenders", _lenders(posterior, prior.coupling)))
    if hasattr(prior, "kernel"):
        found.append(("Kernel", str(prior.kernel)))
    found.append(("Likelihood", _headline(likelihood, posterior.settings.get("likelihood"))))
    return found


def _order(prior: Any) -> str:
    if hasattr(prior, "permutation"):
        return "rows arrive " + ("as they stand" if prior.permutation == "rows" else "in an order that is not known")
    verb, source = ("borrow", "from") if hasattr(prior, "coupling") else ("link", "to")
    earlier = getattr(prior, "sequential", False)
    return f"rows {verb} {source} earlier rows only" if earlier else f"rows {verb} both ways"


def _lenders(posterior: Posterior, coupling: str) -> str:
    """Return how many lenders a row has, and how many rows lend in the best draw, where that is known."""
    if coupling == "dish":
        return "one for every feature of a row"
    lenders = posterior.map().extras.get("lenders")
    known = "" if lenders is None else f"; in the best draw, {len(np.unique(lenders)):,} rows lend"
    return f"one for all features of a row{known}"


def parameters(posterior: Posterior, probability: float) -> list[dict[str, str]]:
    """Return every parameter of prior and likelihood: what was assumed, and what came out."""
    rows = []
    scalars = posterior.data["posterior"]
    for name, value in _flat(specification(posterior, "prior"), specification(posterior, "likelihood")):
        row = {"symbol": symbol(name)[0], "name": name, "meaning": symbol(name)[1], "came": "–"}
        if isinstance(value, _HYPERPRIORS):
            row["assumed"] = f"{type(value).__name__}({', '.join(f'{x:g}' for x in value.get_params().values())})"
            row["assumed"] += " of the square" if isinstance(value, InverseGamma) else ""
            if name in scalars:
                x = scalars[name].to_numpy()
                low, high = np.quantile(x, [(1 - probability) / 2, (1 + probability) / 2])
                row["came"] = f"{figure(x.mean())} ({figure(low)} to {figure(high)})"
        else:
            row["assumed"] = f"fixed at {figure(value, 4)}"
        rows.append(row)
    return rows


def _flat(*specifications: Any) -> Iterator[tuple[str, Any]]:
    for specification in specifications:
        if specification is None:
            continue
        for name, value in specification.get_params(deep=False).items():
            number = isinstance(value, Real) and not isinstance(value, bool) and name != "cutoff"
            if number or isinstance(value, _HYPERPRIORS):
                yield name, value
            elif isinstance(value, Spec):
                yield from _flat(value)


def _headline(specification: Any, described: Any) -> str:
    if specification is None:
        return str(described)
    words = (type(specification).__doc__ or "").strip().splitlines()[:1]
    plain = re.sub(r":\w+:`([^`]*)`", r"\1", words[0] if words else "").strip().rstrip(".")
    for name in ("sigma", "alpha", "beta", "gamma", "nu"):
        plain = plain.replace(f"\\{name}", symbol(name)[0] if name != "sigma" else "σ")
    name = type(specification).__name__
    return f"{plain} ({name})" if plain else name


def snippet(posterior: Posterior) -> str:
    """Return the Python code of the run."""
    settings, plan = posterior.settings, posterior.plan
    classes = sorted(set(_classes({key: settings.get(key) for key in ("prior", "likelihood")})))
    known = [name for name in classes if name in ddibp.__all__]
    lines = [f"from ddibp import {', '.join([*known, 'sample_posterior'])}"]
    lines += [f"# {name} is a class of your own: import it" for name in classes if name not in known]
    lines += ["", f"# X: the data as they were fitted, an array of shape {posterior.observed.shape}, NaN where missing"]
    calls = [_code(posterior, "prior"), _code(posterior, "likelihood"), "X"]
    for argument, variable in (("covariates", "t"), ("groups", "groups")):
        if argument in posterior.context:
            lines.append(
                f"# {variable}: the {argument} of the rows, an array of shape {posterior.context[argument].shape}"
            )
            calls.append(f"{argument}={variable}")
    seed = _seed(plan["seed"])
    if seed.startswith("np."):
        lines.insert(0, "import numpy as np")
    calls += [f"{key}={plan[key]}" for key in ("draws", "tune", "chains", "thin")] + [f"seed={seed}"]
    if "schedule" in settings:
        moves = "".join(f"        {(name, frequency)!r},\n" for name, frequency in settings["schedule"])
        calls.append(f"schedule=[\n{moves}    ]")
    if "start" in settings:
        calls.append(f"start={settings['start']!r}")
    body = "".join(f"    {call},\n" for call in calls)
    return "\n".join([*lines, f"posterior = sample_posterior(\n{body})"])


def _code(posterior: Posterior, part: str) -> str:
    specification_ = specification(posterior, part)
    return repr(posterior.settings.get(part) if specification_ is None else specification_)


def _seed(seed: dict[str, Any]) -> str:
    entropy = seed["entropy"]
    if len(entropy) == 1 and not seed["spawn_key"] and seed["pool_size"] == 4:
        return str(entropy[0])
    return (
        f"np.random.SeedSequence({entropy!r}, spawn_key={tuple(seed['spawn_key'])!r}, pool_size={seed['pool_size']!r})"
    )


def _classes(described: Any) -> Iterator[str]:
    if isinstance(described, dict):
        if "class" in described:
            yield str(described["class"])
        for value in described.values():
            yield from _classes(value)


def versions(posterior: Posterior) -> list[tuple[str, str]]:
    """Return what made the run and what made the page."""
    found = [("ddibp that drew", posterior.plan["version"]), ("ddibp that wrote this page", ddibp.__version__)]
    found.append(("Python", platform.python_version()))
    for package in ("numpy", "scipy", "numba"):
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return found
