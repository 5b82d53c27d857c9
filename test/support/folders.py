"""Folders of the tests."""

from pathlib import Path

SUPPORT = Path(__file__).parent  # modules shared by tests; on the path of every test
