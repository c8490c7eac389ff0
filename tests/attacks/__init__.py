"""Attacks on rows and what comes of them."""
