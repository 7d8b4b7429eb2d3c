"""Hosts and their agents: who starts, watches and ends instances, and how the service reaches them."""
