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
the features of later rows: to interpolate with both sides, fit with the row in place, as NaN.

**Other priors.** Fitted rows stay as they are under all of them; given the fitted features, and what the chain kept of
the draw besides,

* IBP: :math:`p_k = m_k/(N+1)`, with Poisson(:math:`\alpha/(N+1)`) fresh features, where :math:`m_k` fitted rows have k.
* AIBD: the row arrives after all fitted rows of its group, in whatever order these arrived: :math:`p_k = \frac{N}{N+1}
  \sum_j \lambda_{*j} z_{jk} / \sum_j \lambda_{*j}`, with Poisson(:math:`\alpha/(N+1)`) fresh features. For
  ``permutation="rows"`` that is the prior's own law; for ``"uniform"`` it is a definition, as a row more could have
  arrived anywhere.
* dHBP: the row borrows from a fitted row or from itself, by the decay, and no fitted row borrows from it. With
  ``coupling="customer"`` one lender serves all features, which are then a mixture over lenders given those of the
  fitted rows; with ``"dish"`` every feature has a lender of its own, and the rate of fresh features is a mean over 256
  draws of lenders. From a row of which :math:`n` fitted rows borrow, :math:`m_k` of them with feature k,
  :math:`P(z_{*k} = 1) = (c_1 E[p_k] + m_k)/(c_1 + n)`. Base probabilities are summed out.
* dIBP: :math:`p_k = \Phi((\tau_k - \mu_k)/s)` with mean and standard deviation of the row's Gaussian value given those
  of the fitted rows. Thresholds and values are those of the draw: `extend` conditions on those of the best one, and
  `predict` averages over draws. This is the prior's own law, as the dIBP is marginally consistent. The rate of fresh
  features is a mean over 256 draws of the fitted values.

Every new row stands alone: new rows do not link to each other and learn nothing from each other. Weights are summed
out given the fitted data, each fresh feature adds :math:`\sigma_w^2` to the variance of the row, and an entry that is
NaN takes no part.
"""

from ddibp.prediction.extension import Extension, Prediction, extend, predict

__all__ = ["Extension", "Prediction", "extend", "predict"]
