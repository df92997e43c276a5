"""Names of decays and priors, for the command line, the tests and the docs; a user's own register the same way.

Examples
--------
>>> from ddibp import registry
>>> sorted(registry.decays())
['constant', 'exponential', 'logistic', 'window']
>>> registry.make_decay("exponential", beta=0.5)
Exponential(beta=0.5)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ddibp._spec import Spec
from ddibp.hyperpriors import Gamma, InverseGamma
from ddibp.likelihoods import LinearGaussian
from ddibp.priors import AIBD, DDIBP, DHBP, DIBP, IBP, _covariance
from ddibp.proximity import Constant, CustomDecay, Decay, Exponential, Logistic, Window

_DECAYS: dict[str, type[Decay]] = {}
_PRIORS: dict[str, type[Any]] = {}


def register_decay(name: str, decay: type[Decay]) -> None:
    """Make a decay class (a frozen dataclass derived from `Decay`) known by ``name``."""
    if not (isinstance(decay, type) and issubclass(decay, Decay) and dataclasses.is_dataclass(decay)):
        raise TypeError(f"decay must be a frozen dataclass derived from ddibp.Decay, got {decay!r}.")
    _register(_DECAYS, name, decay)


def register_prior(name: str, prior: type[Any]) -> None:
    """Make a prior class (a frozen dataclass that answers `ddibp.contract.Prior`) known by ``name``."""
    questions = ("sample", "sharing", "expected_sharing")
    if not (isinstance(prior, type) and dataclasses.is_dataclass(prior)):
        raise TypeError(f"prior must be a frozen dataclass, got {prior!r}.")
    missing = [question for question in questions if not callable(getattr(prior, question, None))]
    if missing:
        raise TypeError(f"prior {prior.__name__} does not answer {', '.join(missing)}; see ddibp.contract.Prior.")
    _register(_PRIORS, name, prior)


def decays() -> Mapping[str, type[Decay]]:
    """Return the registered decays by name."""
    return MappingProxyType(_DECAYS)


def priors() -> Mapping[str, type[Any]]:
    """Return the registered priors by name."""
    return MappingProxyType(_PRIORS)


def make_decay(name: str, **parameters: float) -> Decay:
    """Return the decay called ``name``; parameters must be its own."""
    return _make("decay", _DECAYS, name, parameters)


def make_prior(name: str, **parameters: Any) -> Any:
    """Return the prior called ``name``; parameters must be its own."""
    return _make("prior", _PRIORS, name, parameters)


def describe(value: Any) -> Any:
    """Return a specification as plain values that fit into JSON; `restore` is the way back.

    Examples
    --------
    >>> from ddibp import Window, registry
    >>> registry.describe(Window(3.0))
    {'class': 'Window', 'nu': 3.0}
    """
    if isinstance(value, Spec):
        return {"class": type(value).__name__} | {k: describe(v) for k, v in value.get_params(deep=False).items()}
    if _covariance.is_kernel(value):
        return _covariance.describe_kernel(value)
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    return value.item() if hasattr(value, "item") else value


def restore(description: Any) -> Any:
    """Return the specification that `describe` has described; your own classes must be registered by then.

    Examples
    --------
    >>> from ddibp import registry
    >>> registry.restore({"class": "Exponential", "beta": {"class": "Gamma", "shape": 2.0, "rate": 4.0}})
    Exponential(beta=Gamma(shape=2.0, rate=4.0))
    """
    if not isinstance(description, dict):
        return description
    if _covariance.describes_kernel(description):
        return _covariance.restore_kernel(description)
    name = description["class"]
    known = {cls.__name__: cls for cls in (*_DECAYS.values(), *_PRIORS.values(), Gamma, InverseGamma, LinearGaussian)}
    if name == CustomDecay.__name__:
        raise ValueError(
            f"the decay {description['function']} is a function of yours, which a description does not hold: "
            "make it a decay class and register it with ddibp.registry.register_decay."
        )
    if name not in known:
        raise ValueError(f"{name} is not registered: import the file that registers it before reading this.")
    return known[name](**{k: restore(v) for k, v in description.items() if k != "class"})


def _register(table: dict[str, Any], name: str, cls: type[Any]) -> None:
    if table.get(name, cls) is not cls:
        raise ValueError(f"{name!r} is taken by {table[name].__name__}; choose another name.")
    table[name] = cls


def _make(kind: str, table: dict[str, Any], name: str, parameters: dict[str, Any]) -> Any:
    if name not in table:
        raise ValueError(f"{kind} must be one of {', '.join(sorted(table))}; got {name!r}.")
    known = [field.name for field in dataclasses.fields(table[name])]
    for parameter in parameters:
        if parameter not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no parameters"
            raise ValueError(f"{kind} {name!r} has no parameter {parameter!r}; it {takes}.")
    return table[name](**parameters)


for _name, _decay in {"constant": Constant, "exponential": Exponential, "logistic": Logistic, "window": Window}.items():
    register_decay(_name, _decay)
for _name, _prior in {"ibp": IBP, "ddibp": DDIBP, "dhbp": DHBP, "dibp": DIBP, "aibd": AIBD}.items():
    register_prior(_name, _prior)
