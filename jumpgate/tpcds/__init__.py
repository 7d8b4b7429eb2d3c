"""TPC-DS for demonstrations, tests and benchmarks: table schemas, data files, and queries written as dataflows."""
