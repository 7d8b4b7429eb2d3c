"""The programmable switch: P4 programs, their compiler, and a software switch that runs them."""
