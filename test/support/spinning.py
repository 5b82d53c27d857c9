"""Executors of nodes in the process of a test, spun until something has happened."""

import time


def spin_until(executor, done):
    until = time.monotonic() + 60.0
    while not done():
        assert time.monotonic() < until
        executor.spin_once(timeout_sec=0.2)
