"""Replay of states and trajectories as a self-contained HTML page."""
