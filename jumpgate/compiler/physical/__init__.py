"""Passes that cut a MappedPlan into instances, edges and stages, and set how each instance runs."""
