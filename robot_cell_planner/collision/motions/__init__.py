"""Certified motions: whole curves through joint space that are proven free, not sampled."""
