"""Ranges and defaults of `DraftOptions`. Needs no library: the command line shows them in its help."""

SAMPLES, MAX_SAMPLES = 10_000, 10_000_000
SEED = 1
