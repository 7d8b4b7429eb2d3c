"""Secrets of this user, proofs that somebody knows one, certificates, and seals of what is executed."""
