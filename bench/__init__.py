"""Benchmarks against the peers, as ratios in one run: `./dev bench [suite…]`; see README.md."""
