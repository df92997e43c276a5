"""What running chains asks of a sampler, which alone knows the prior, the likelihood and the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


class Sampler(Protocol):
    """An immutable, picklable description of a chain; what changes is the state, which only the sampler looks into.

    Attributes
    ----------
    n_rows, n_outputs : int
        Shape of the data.
    missing : ndarray of bool, shape (n_rows, n_outputs)
        Where entries are missing.
    observed : ndarray of float, shape (n_rows, n_outputs)
        The data, NaN where missing.
    context : dict of str to ndarray
        What readers of the draws want to know besides, such as covariates; it is kept beside the data.
    settings : dict
        All that fixes the numbers, as JSON: prior, likelihood, schedule of moves, digests of the covariates, versions.
        A run is resumed only by a sampler with equal settings.
    """

    n_rows: int
    n_outputs: int
    missing: NDArray[np.bool_]
    observed: NDArray[np.float64]

    @property
    def context(self) -> dict[str, NDArray[Any]]:
        """See above."""

    @property
    def settings(self) -> dict[str, Any]:
        """See above."""

    def start(self, rng: np.random.Generator) -> Any:
        """Return the first state of a chain, which owns ``rng`` from now on."""

    def sweep(self, state: Any) -> None:
        """Do one iteration in place."""

    def scalars(self, state: Any) -> dict[str, float]:
        """Return named numbers, always the same names, ``n_features`` and ``log_joint`` among them."""

    def features(self, state: Any) -> NDArray[np.bool_]:
        """Return Z, of shape (n_rows, n_features)."""

    def weights(self, state: Any) -> NDArray[np.float64]:
        """Return W, of shape (n_features, n_outputs): a draw or the mean given the state, which must not change."""

    def imputed(self, state: Any) -> NDArray[np.float64]:
        """Return values of the missing entries in row-major order; the state must not change."""

    def move_statistics(self, state: Any) -> dict[str, tuple[int, int, float]]:
        """Return, for every kind of move since the start: times tried, times accepted, seconds."""

    def pack(self, state: Any) -> dict[str, NDArray[Any]]:
        """Return the whole state with its generator as arrays without objects.

        The chain that `unpack` makes of them continues bit for bit as this one would.
        """

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Return the state that `pack` has described."""


@runtime_checkable
class KeepsExtras(Protocol):
    """What a sampler may answer besides: what readers of a draw need beside its features, such as hidden lenders."""

    @property
    def n_extras(self) -> int:
        """About how many numbers `extras` returns."""

    def extras(self, state: Any) -> dict[str, NDArray[Any]]:
        """Return arrays by name, always the same names; the state must not change."""
