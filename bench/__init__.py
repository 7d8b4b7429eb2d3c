"""Benchmarks: `./dev bench NAME [--json]`. bench/README.md holds the results and the command that makes each."""
