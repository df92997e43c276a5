"""Likelihoods of a data matrix given binary features, one file each."""

from ddibp.likelihoods.linear_gaussian import LinearGaussian

__all__ = ["LinearGaussian"]
