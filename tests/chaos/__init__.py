"""Transfers through a proxy that breaks them, with seeded chance."""
