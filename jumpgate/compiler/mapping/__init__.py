"""Passes that choose an accelerator and instances for each operator: from a logical Plan to a MappedPlan."""
