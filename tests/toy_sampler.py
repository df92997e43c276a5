"""A small sampler of binary features with a changing number of columns, to prove what surrounds a sampler."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from dataclasses import dataclass, field

import numpy as np

N_ROWS, N_OUTPUTS, NOISE = 10, 3, 1.0


@dataclass
class State:
    rng: np.random.Generator
    Z: np.ndarray
    W: np.ndarray
    X: np.ndarray
    sweeps: int = 0
    moves: dict = field(default_factory=lambda: {"rows": [0, 0, 0.0], "columns": [0, 0, 0.0]})


def toy_data(n_rows=N_ROWS, n_outputs=N_OUTPUTS, missing=0.2, seed=1):
    rng = np.random.default_rng(seed)
    Z = rng.random((n_rows, 3)) < 0.5
    X = Z @ rng.normal(size=(3, n_outputs)) * 2 + NOISE * rng.normal(size=(n_rows, n_outputs))
    return np.where(rng.random(X.shape) < missing, np.nan, X)


class ToySampler:
    """Gibbs steps for Z and W of a linear-Gaussian model with Beta columns; births and deaths with a Poisson(3) law."""

    def __init__(self, X=None, pause=0.0, fail_at=None, interrupt_at=None, trace=None, name="toy"):
        self.observed = toy_data() if X is None else X
        self.missing = np.isnan(self.observed)
        self.n_rows, self.n_outputs = self.observed.shape
        self.context = {"covariates": np.arange(self.n_rows)}
        self.pause, self.fail_at, self.interrupt_at, self.trace = pause, fail_at, interrupt_at, trace
        self.settings = {"prior": {"name": name, "mean": 3.0}, "data": hashlib.md5(self.observed.tobytes()).hexdigest()}

    def start(self, rng):
        if self.trace is not None:
            (self.trace / str(os.getpid())).touch()
        Z = rng.random((self.n_rows, 2)) < 0.5
        X = np.where(self.missing, 0.0, self.observed)
        return State(rng, Z, rng.normal(size=(2, self.n_outputs)), X)

    def sweep(self, state):
        started = time.perf_counter()
        if self.pause:
            time.sleep(self.pause)
        state.sweeps += 1
        if state.sweeps == self.fail_at:
            raise FloatingPointError("the matrix is not positive definite")
        if state.sweeps == self.interrupt_at:
            self.interrupt()
        state.X[self.missing] = self._noisy(state)
        self._rows(state)
        self._columns(state)
        state.moves["rows"][2] += time.perf_counter() - started

    @staticmethod
    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)

    def _noisy(self, state):
        fitted = np.einsum("nk,km->nm", state.Z.astype(float), state.W)
        return (fitted + NOISE * state.rng.normal(size=fitted.shape))[self.missing]

    def _rows(self, state):
        for k in range(state.Z.shape[1]):
            p = state.rng.beta(1 + state.Z[:, k].sum(), 1 + (~state.Z[:, k]).sum())
            rest = (
                state.X - np.einsum("nk,km->nm", state.Z.astype(float), state.W) + np.outer(state.Z[:, k], state.W[k])
            )
            gain = (np.einsum("nm,m->n", rest, state.W[k]) - (state.W[k] ** 2).sum() / 2) / NOISE**2
            new = state.rng.random(self.n_rows) < 1 / (1 + np.exp(np.clip(-gain - np.log(p / (1 - p)), -500, 500)))
            state.moves["rows"][0] += self.n_rows
            state.moves["rows"][1] += int((new != state.Z[:, k]).sum())
            state.Z[:, k] = new
            rest = rest[new].sum(axis=0)
            precision = 1 + new.sum() / NOISE**2
            state.W[k] = rest / NOISE**2 / precision + state.rng.normal(size=self.n_outputs) / np.sqrt(precision)

    def _columns(self, state):
        K = state.Z.shape[1]
        state.moves["columns"][0] += 1
        if state.rng.random() < 0.5:
            z, w = state.rng.random(self.n_rows) < 0.5, state.rng.normal(size=self.n_outputs)
            Z, W, odds = np.column_stack([state.Z, z]), np.vstack([state.W, w]), 3.0 / (K + 1)
        elif K:
            k = int(state.rng.integers(K))
            Z, W, odds = np.delete(state.Z, k, axis=1), np.delete(state.W, k, axis=0), K / 3.0
        else:
            return
        gain = self._fit(state.X, Z, W) - self._fit(state.X, state.Z, state.W)
        if np.log(state.rng.random()) < gain + np.log(odds):
            state.moves["columns"][1] += 1
            state.Z, state.W = Z, W

    @staticmethod
    def _fit(X, Z, W):
        return float(-((X - np.einsum("nk,km->nm", Z.astype(float), W)) ** 2).sum() / (2 * NOISE**2))

    def scalars(self, state):
        fit = self._fit(state.X, state.Z, state.W)
        K = state.Z.shape[1]
        return {
            "alpha": 3.0,
            "active": float(state.Z.mean()) if K else 0.0,
            "n_features": K,
            "log_likelihood": fit,
            "log_joint": fit - K * np.log(3.0) - float((state.W**2).sum()) / 2,
        }

    def features(self, state):
        return state.Z

    def weights(self, state):
        return state.W

    def imputed(self, state):
        return state.X[self.missing]

    def move_statistics(self, state):
        return {name: tuple(figures) for name, figures in state.moves.items()}

    def pack(self, state):
        rest = json.dumps([state.rng.bit_generator.state, state.sweeps, state.moves])
        return {"Z": state.Z, "W": state.W, "X": state.X, "rest": np.array(rest)}

    def unpack(self, arrays):
        generator, sweeps, moves = json.loads(str(arrays["rest"]))
        rng = np.random.default_rng()
        rng.bit_generator.state = generator
        return State(rng, *(np.array(arrays[name]) for name in ("Z", "W", "X")), sweeps, moves)


def same_draws(first, second):
    """Assert that two posteriors hold the same draws and sums, to the last bit."""
    assert list(first._states) == list(second._states)
    for name, values in first._scalars.items():
        np.testing.assert_array_equal(values, second._scalars[name], err_msg=name)
    for Z, other in zip(first.draws(), second.draws(), strict=True):
        np.testing.assert_array_equal(Z, other)
    timed = ("moves.figures", "seconds", "parts", "sampler.rest")
    for chain, state in first._states.items():
        other = second._states[chain]
        assert state.keys() == other.keys()
        for name in state.keys() - set(timed):
            np.testing.assert_array_equal(state[name], other[name], err_msg=name)
        assert json.loads(str(state["sampler.rest"]))[:2] == json.loads(str(other["sampler.rest"]))[:2]
        np.testing.assert_array_equal(state["moves.figures"][:, :2], other["moves.figures"][:, :2])
    if first.missing.any():
        for a, b in zip(first.imputation_interval(0.5), second.imputation_interval(0.5), strict=True):
            np.testing.assert_array_equal(a, b)
