"""Statistical tests with a stated false-alarm rate."""

from __future__ import annotations

import numpy as np
from scipy import stats

FALSE_ALARM_RATE = 1e-5  # of one test function under a correct program; divided among its comparisons


def chi_square_p(counts, probabilities):
    """Return the p-value of observed counts under exact probabilities; cells expecting fewer than 8 are pooled."""
    counts, expected = np.asarray(counts, float), np.sum(counts) * np.asarray(probabilities, float)
    assert np.all(counts[expected == 0] == 0), "an impossible outcome was drawn"
    small = expected < 8
    counts = np.append(counts[~small], counts[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    if expected[-1] < 8:  # the pool itself is small: give it to the largest cell
        top = int(np.argmax(expected[:-1]))
        counts[top], expected[top] = counts[top] + counts[-1], expected[top] + expected[-1]
        counts, expected = counts[:-1], expected[:-1]
    if len(counts) == 1:
        return 1.0
    return float(stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1))


def assert_law(counts, probabilities, comparisons=1):
    """Assert that counts follow the law, at the false-alarm rate shared by so many comparisons."""
    p = chi_square_p(counts, probabilities)
    assert p > FALSE_ALARM_RATE / comparisons, f"p = {p:.3g}"


def assert_poisson(sample, mean, comparisons=1):
    """Assert that a sample is Poisson with this mean."""
    sample = np.asarray(sample)
    top = int(max(sample.max(), mean + 10 * np.sqrt(mean) + 10))
    pmf = stats.poisson.pmf(np.arange(top + 1), mean)
    assert_law(np.bincount(sample, minlength=top + 1), pmf / pmf.sum(), comparisons)
