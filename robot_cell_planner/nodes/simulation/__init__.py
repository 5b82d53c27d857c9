"""The simulated robot node."""
