r"""New rows of a dHBP, who borrow from fitted rows or are their own lenders; no fitted row borrows from them.

Fitted rows then have the law of the fit, so that conditional laws are exact: row \* borrows from row j with
probability :math:`a_{*j} = f(d_{*j})/h` and from itself with :math:`f(0)/h`. From row j, of which :math:`n_j` fitted
rows borrow and :math:`m_{jk}` of them have feature k, it takes feature k with probability

.. math:: \frac{c_1 E[p_k \mid z_k, g] + m_{jk}}{c_1 + n_j}.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp.priors import _borrowing_kernels as kernels
from ddibp.priors._borrowing import nodes
from ddibp.priors._newcomers import BoolArray, Extras, FloatArray, Inheritance, Numbers, Places, kept
from ddibp.priors._newcomers_linked import DecayingTies

_NEGLIGIBLE = 1e-6
_NETWORKS = 256


class _Borrowers(DecayingTies):
    def _weights(self, numbers: Numbers) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities to borrow from fitted rows, and from oneself."""
        log_f, itself = self.log_decay(numbers)
        f = np.exp(log_f - itself)
        h = 1.0 + f.sum(axis=1)
        return f / h[:, None], 1.0 / h

    def _concentrations(self, numbers: Numbers) -> tuple[float, float]:
        c0, c1 = (float(numbers.get(name, getattr(self.prior, name))) for name in ("c0", "c1"))
        return c0, c1


class CustomerNewcomers(_Borrowers):
    r"""The reading ``"customer"``: one lender for all features, so that a row's features are a mixture over lenders.

    From a lender with n borrowers, fresh features number Poisson with mean

    .. math:: \gamma \frac{c_1}{c_1 + n}\, c_0 \int_0^1 (1-p)^{c_0-1} P(\text{no fitted row} \mid p)\, dp.

    Lenders with equal urns count as one, and the least likely ones, a millionth in sum, are left out.
    """

    def inheritance(self, Z: BoolArray, numbers: Numbers, extras: Extras) -> Inheritance:
        """Return a component for every kind of lender."""
        lenders = np.asarray(kept(extras, "lenders"), dtype=np.int64)
        c0, c1 = self._concentrations(numbers)
        a, alone = self._weights(numbers)
        used, urn = np.unique(lenders, return_inverse=True)
        sizes, taken = np.bincount(urn, minlength=used.size), np.zeros((used.size, Z.shape[1]))
        np.add.at(taken, urn, Z)
        # A lender whom nobody asked has an urn like one's own.
        urns = np.vstack([np.zeros(1 + Z.shape[1]), np.column_stack([sizes, taken])])
        fresh_lenders = np.ones(len(lenders), bool)
        fresh_lenders[used] = False
        shares = np.column_stack([alone + a[:, fresh_lenders].sum(axis=1), a[:, used]])
        different, kind = np.unique(urns, axis=0, return_inverse=True)
        merged = shares @ np.eye(len(different))[kind.ravel()]
        base = np.array([mean_atom(z, lenders, c0, c1) for z in np.ascontiguousarray(Z.T).view(np.uint8)])
        p = (c1 * base + different[:, 1:]) / (c1 + different[:, :1])
        rate = numbers["gamma"] * vacancy(lenders, c0, c1) * c1 / (c1 + different[:, 0])
        row, component = np.nonzero(_worth_it(merged))
        weight = merged[row, component]
        weight /= np.bincount(row, weight, minlength=len(merged))[row]
        return Inheritance(row, weight, p[component], rate[component])


class DishNewcomers(_Borrowers):
    r"""The reading ``"dish"``: a lender for every feature, so that features are independent.

    The rate of fresh features averages that of the other reading over 256 draws of all lenders.
    """

    def __init__(self, prior: Any, places: Places) -> None:
        super().__init__(prior, places)
        self._known: tuple[Any, FloatArray, float] | None = None

    def inheritance(self, Z: BoolArray, numbers: Numbers, extras: Extras) -> Inheritance:
        """Return one component a row."""
        links = np.asarray(kept(extras, "links"), dtype=np.int64)
        c0, c1 = self._concentrations(numbers)
        a, alone = self._weights(numbers)
        n, K = Z.shape
        p = np.empty((len(a), K))
        for k, z in enumerate(np.ascontiguousarray(Z.T).view(np.uint8)):
            base = mean_atom(z, links[k], c0, c1)
            sizes, taken = np.bincount(links[k], minlength=n), np.bincount(links[k], z, minlength=n)
            p[:, k] = a @ ((c1 * base + taken) / (c1 + sizes)) + alone * base
        others, own = self._vacancies(numbers, c0, c1)
        return Inheritance.plain(p, numbers["gamma"] * (a @ others + alone * own))

    def _vacancies(self, numbers: Numbers, c0: float, c1: float) -> tuple[FloatArray, float]:
        """Return the rates of fresh features at mass 1 that come from every fitted row, and from oneself."""
        parameters = {name: numbers[name] for name in self.prior.learned}
        if self._known is None or self._known[0] != parameters:
            fitted = self.places.fitted
            process = self.prior.process(fitted["covariates"], groups=fitted.get("groups"), parameters=parameters)
            drawn = process.draw_lenders(_NETWORKS, np.random.default_rng(0))
            vacant = np.array([vacancy(lenders, c0, c1) for lenders in drawn])
            sizes = np.array([np.bincount(lenders, minlength=drawn.shape[1]) for lenders in drawn])
            self._known = parameters, (vacant[:, None] * c1 / (c1 + sizes)).mean(axis=0), float(vacant.mean())
        return self._known[1:]


def mean_atom(z: NDArray[np.uint8], lenders: NDArray[Any], c0: float, c1: float) -> float:
    """Return the expected base probability of a column given its rows and their lenders."""
    p, omega = nodes(z.size, c0)
    belief = np.empty(p.size)
    kernels.believe(z, lenders, p, omega, c1, np.empty((2, z.size)), belief)
    return float(belief @ p)


def vacancy(lenders: NDArray[Any], c0: float, c1: float) -> float:
    r"""Return :math:`c_0 \int_0^1 (1-p)^{c_0-1} P(\text{no row} \mid p)\, dp`."""
    p, omega = nodes(lenders.size, c0)
    sizes, vacant = np.bincount(lenders), np.ones(p.size)
    for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
        seen = np.arange(size)[:, None]
        vacant *= ((c1 * (1.0 - p) + seen) / (c1 + seen)).prod(axis=0) ** count
    return float(omega @ vacant)


def _worth_it(weights: FloatArray) -> BoolArray:
    """Return which components are kept: all but the least likely ones, negligible in sum."""
    order = np.argsort(weights, axis=1)
    total = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    found = np.empty(weights.shape, bool)
    np.put_along_axis(found, order, total > _NEGLIGIBLE, axis=1)
    return found
