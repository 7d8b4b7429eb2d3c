"""Simulates a job's plan on a cluster that does not exist: how long it would take, and where the time would go."""
