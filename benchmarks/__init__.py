"""Benchmarks: each module prints a table and writes its figures to benchmarks/results/<area>.json."""
