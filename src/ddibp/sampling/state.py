"""The state of one chain: features with what the likelihood keeps of them, links, parameters, generator, work space."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp.moves.evidence import Evidence, Gaussian
from ddibp.moves.links import Scratch, scratch_for

FloatArray = NDArray[np.float64]


@dataclass
class ChainState:
    """Everything that changes in a chain. Columns beyond the first ``lik.sizes[0]`` are spare room."""

    rng: np.random.Generator
    lik: Gaussian
    links: NDArray[np.int32]
    owners: NDArray[np.int64]
    marks: FloatArray
    alpha: float
    parameters: dict[str, float]
    data: FloatArray
    sweeps: int = 0
    statistics: dict[str, list[float]] = field(default_factory=dict)
    process: Any = None
    evidence: Evidence = field(init=False)
    work: tuple[FloatArray, FloatArray, FloatArray] = field(init=False)
    scratch: Scratch = field(init=False)

    def __post_init__(self) -> None:
        self._make_work_space()

    @property
    def n_features(self) -> int:
        """Number of columns K."""
        return int(self.lik.sizes[0])

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return len(self.lik.X)

    @property
    def n_entries(self) -> int:
        """Number of entries of Z."""
        return self.n_rows * self.n_features

    def random_order(self) -> NDArray[np.int64]:
        """Return the columns in a fresh random order."""
        return self.rng.permutation(self.n_features)

    @property
    def Z(self) -> NDArray[np.bool_]:
        """The features, rows first."""
        return np.ascontiguousarray(self.lik.z[: self.n_features].T).astype(bool)

    def draw_causes(self, k: int) -> None:
        """Draw owner and links of column k anew from their law given the column."""
        z = self.lik.z[k]
        self.owners[k] = self.process.draw_owner(z, self.rng)
        self.process.draw_links(z, int(self.owners[k]), self.links[k], self.rng)

    def make_room(self, n_columns: int) -> None:
        """Make room for at least so many columns; nothing else changes."""
        capacity = len(self.lik.z)
        if n_columns <= capacity:
            return
        capacity = max(2 * capacity, n_columns)

        def longer(array: Any, *axes: int) -> Any:
            shape = tuple(capacity if axis in axes else size for axis, size in enumerate(array.shape))
            result = np.zeros(shape, array.dtype)
            result[tuple(slice(size) for size in array.shape)] = array
            return result

        lik = self.lik
        self.lik = lik._replace(
            z=longer(lik.z, 0), gram=longer(lik.gram, 0, 1), cross=longer(lik.cross, 0), weights=longer(lik.weights, 0)
        )
        self.links, self.owners, self.marks = (longer(a, 0) for a in (self.links, self.owners, self.marks))
        self._make_work_space()

    def _make_work_space(self) -> None:
        n, m = self.lik.X.shape
        capacity = len(self.lik.z)
        width = m + max(capacity, m)
        self.evidence = Evidence(
            np.zeros((n, width)), np.zeros((n, 2)), np.zeros(width), np.zeros(7), np.zeros(2, np.int64)
        )
        self.work = (np.zeros((capacity, capacity)), np.zeros((capacity, capacity)), np.zeros((2 * capacity, m)))
        self.scratch = scratch_for(n, width)

    def pack(self) -> dict[str, NDArray[Any]]:
        """Return the state as plain arrays, from which `unpack` makes the same chain to the last bit."""
        K, lik = self.n_features, self.lik
        generator = json.dumps(self.rng.bit_generator.state).encode()
        names = ("alpha", "sweeps", "parameters", "statistics")
        numbers = {name: getattr(self, name) for name in names}
        return {
            "generator": np.frombuffer(generator, np.uint8),
            "numbers": np.frombuffer(json.dumps(numbers).encode(), np.uint8),
            "z": np.packbits(lik.z[:K], axis=1),
            "gram": lik.gram[:K, :K].copy(),
            "cross": lik.cross[:K].copy(),
            "weights": lik.weights[:K].copy(),
            "residuals": lik.residuals.copy(),
            "scales": lik.scales.copy(),
            "X": lik.X.copy(),
            "data": self.data.copy(),
            "links": self.links[:K].copy(),
            "owners": self.owners[:K].copy(),
            "marks": self.marks[:K].copy(),
            **{f"hidden.{name}": np.array(array) for name, array in self.process.hidden.items()},
        }

    @classmethod
    def unpack(cls, arrays: Mapping[str, NDArray[Any]], observed: NDArray[np.uint8]) -> ChainState:
        """Return the chain that `pack` described."""
        settings = json.loads(arrays["generator"].tobytes())
        bit_generator = getattr(np.random, settings["bit_generator"])()
        bit_generator.state = settings
        numbers = json.loads(arrays["numbers"].tobytes())
        K, n = len(arrays["owners"]), len(arrays["X"])
        lik = empty_likelihood(arrays["X"], observed, max(K, 8))
        lik.z[:K] = np.unpackbits(arrays["z"], axis=1, count=n) if K else 0
        lik.gram[:K, :K], lik.cross[:K], lik.weights[:K] = arrays["gram"], arrays["cross"], arrays["weights"]
        lik.residuals[:], lik.scales[:] = arrays["residuals"], arrays["scales"]
        lik.sizes[0] = K
        links, owners = np.zeros((len(lik.z), n), np.int32), np.zeros(len(lik.z), np.int64)
        marks = np.zeros((len(lik.z), arrays["marks"].shape[1]))
        links[:K], owners[:K], marks[:K] = arrays["links"], arrays["owners"], arrays["marks"]
        return cls(
            np.random.Generator(bit_generator),
            lik,
            links,
            owners,
            marks,
            numbers["alpha"],
            numbers["parameters"],
            arrays["data"].copy(),
            numbers["sweeps"],
            numbers["statistics"],
        )


def empty_likelihood(X: FloatArray, observed: NDArray[np.uint8], capacity: int) -> Gaussian:
    """Return the state of the likelihood with no columns and room for ``capacity``."""
    n, m = X.shape
    return Gaussian(
        X.copy(),
        observed,
        np.zeros((capacity, n), np.uint8),
        np.zeros((capacity, capacity)),
        np.zeros((capacity, m)),
        np.zeros((capacity, m)),
        np.zeros((n, m)),
        np.zeros(3),
        np.zeros(1, np.int64),
    )
