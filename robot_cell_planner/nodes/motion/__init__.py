"""Motions under way: streaming, supervision, and their outcome."""
