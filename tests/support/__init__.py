"""Common parts of this repository's tests and benchmarks. Not installed: jumpgate.testing is."""
