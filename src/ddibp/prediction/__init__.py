r"""New rows given a posterior: their features, their missing entries, and how well they were foreseen.

**The conditioning.** Under the dd-IBP, adding a row changes the law of the others (they may link to it), so "a new row
given the fitted ones" has to be defined. Here new rows may link to fitted rows and to themselves, but no fitted row
links to a new one. That is a dd-IBP in its own right, whose law of the fitted rows is the fitted one, so that the
conditional law of a new row is exact: given the features Z of the fitted rows and the decay at distances d to them,

.. math:: p_k = \frac{1}{h_*}\sum_j f(d_{*j})\, z_{jk}, \qquad h_* = f(0) + \sum_j f(d_{*j}),

row \* has feature k with probability :math:`p_k`, independently over k, and Poisson(:math:`\alpha/h_*`) fresh features
that no fitted row has. For rows that are appended to a sequential prior's this is the prior's own law. Under a
sequential prior of one covariate, j runs over the fitted rows that are not later than the new one; with several columns
or precomputed distances new rows come after all fitted ones. A row between fitted ones therefore learns nothing from
the features of later rows: to interpolate with both sides, fit with the row in place, as NaN. For the IBP
:math:`p_k = m_k/(N+1)`, with Poisson(:math:`\alpha/(N+1)`) fresh features, where :math:`m_k` fitted rows have k.

Every new row stands alone: new rows do not link to each other and learn nothing from each other. Weights are summed
out given the fitted data, each fresh feature adds :math:`\sigma_w^2` to the variance of the row, and an entry that is
NaN takes no part.
"""

from ddibp.prediction.extension import Extension, Prediction, extend, predict

__all__ = ["Extension", "Prediction", "extend", "predict"]
