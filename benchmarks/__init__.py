"""Ratios against reference implementations: `python -m benchmarks` runs them all."""
