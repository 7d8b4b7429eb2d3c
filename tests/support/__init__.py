"""What the tests and benchmarks of this repository share. Not installed: see jumpgate.testing for what is."""
