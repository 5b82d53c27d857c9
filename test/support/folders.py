"""Folders of the tests."""

from pathlib import Path

SUPPORT = Path(__file__).parent  # what tests share; on the path of every test
