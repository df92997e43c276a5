"""Immutable specifications (priors, decays, hyperpriors) that scikit-learn can look into."""

from __future__ import annotations

import dataclasses
from typing import Any, Self


class Spec:
    """Base of the frozen dataclasses that describe a model.

    A specification is a value: it compares, hashes and prints as such, and is never changed in place.
    ``get_params`` follows scikit-learn (``deep=True`` adds ``decay__beta`` and the like); ``set_params`` *returns*
    the changed specification, because the original cannot change.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, those of nested specifications as ``outer__inner``."""
        params: dict[str, Any] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            params[field.name] = value
            if deep and isinstance(value, Spec):
                params |= {f"{field.name}__{k}": v for k, v in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Return a copy with the given parameters replaced; nested ones are written ``decay__beta=0.2``."""
        known = {field.name for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        own: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            outer, _, inner = key.partition("__")
            if outer not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {outer!r}; it has {', '.join(sorted(known))}."
                )
            if inner:
                nested.setdefault(outer, {})[inner] = value
            else:
                own[outer] = value
        for outer, inner_params in nested.items():
            target = own.get(outer, getattr(self, outer))
            if not isinstance(target, Spec):
                raise ValueError(
                    f"{type(self).__name__}.{outer} is {target!r}, which has no parameters; "
                    f"cannot set {', '.join(f'{outer}__{k}' for k in inner_params)}."
                )
            own[outer] = target.set_params(**inner_params)
        return dataclasses.replace(self, **own)  # type: ignore[type-var]
