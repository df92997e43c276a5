"""What a chain keeps of a draw beside its features, in parts of a run: arrays of any shapes, of some of the draws.

::

    extras.kept        of every draw, whether its arrays are there
    extra.NAME         the numbers of the arrays, one after the other
    extra-shape.NAME   their shapes, a row each
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

_KEPT, _VALUES, _SHAPES = "extras.kept", "extra.", "extra-shape."


def pack_extras(extras: Arrays, kept: bool) -> Arrays:
    """Return what is written of one draw; nothing where there is nothing to keep."""
    if not extras:
        return {}
    values = {f"{_VALUES}{name}": array.ravel()[: array.size * kept] for name, array in extras.items()}
    shapes = {f"{_SHAPES}{name}": np.array([array.shape])[: int(kept)] for name, array in extras.items()}
    return {_KEPT: np.array([kept])} | values | shapes


def unpack_extras(part: Arrays) -> Iterator[Arrays]:
    """Return the arrays of every draw of a part; none of draws of which they were not kept."""
    names = [name.removeprefix(_VALUES) for name in part if name.startswith(_VALUES)]
    starts, place = dict.fromkeys(names, 0), 0
    for kept in part.get(_KEPT, np.zeros(len(part["n_features"]), bool)):
        found: Arrays = {}
        for name in names if kept else []:
            shape = tuple(part[f"{_SHAPES}{name}"][place].tolist())
            stop = starts[name] + int(np.prod(shape))
            found[name] = part[f"{_VALUES}{name}"][starts[name] : stop].reshape(shape)
            starts[name] = stop
        place += bool(kept)
        yield found


def has_extras(part: Arrays) -> bool:
    """Return whether a part keeps anything beside features."""
    return _KEPT in part
