"""A job's plan on a cluster that is not there: how long it would take, and where the time would go."""
