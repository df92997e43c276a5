"""Slow, obvious implementations that judge the library: enumeration, exact posteriors, the published samplers."""
