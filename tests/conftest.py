"""Seeds of the statistical tests: fixed, and movable as a whole by DDIBP_TEST_SEED to sweep many of them."""

from __future__ import annotations

import os

import numpy as np
import pytest

SEED = int(os.environ.get("DDIBP_TEST_SEED", "20150211"))


@pytest.fixture
def rng(request):
    """Return a stream of its own for every test, whatever the order of tests."""
    name = [ord(c) for c in request.node.nodeid.split("::", 1)[1]]
    return np.random.default_rng([SEED, *name])


def pytest_report_header():
    """Say which seed to give to repeat a failure."""
    return f"DDIBP_TEST_SEED={SEED}"
