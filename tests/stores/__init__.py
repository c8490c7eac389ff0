"""Stores that are written in Python, under the conformance suite of all stores."""
