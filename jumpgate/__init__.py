"""Jumpgate: middleware that lets any analytics engine use any network-connected accelerator."""

__version__ = "0.1.0"
