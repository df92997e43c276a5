"""The version, once for the package and once for files that it writes."""

__version__ = "0.1.0"
