"""Certified motions: continuous motions that are proven free of collision, not sampled."""
