"""The cells in config/, each read once by a process: cells and states are values, and reading takes half a second."""

from functools import cache
from pathlib import Path

from robot_cell_planner.io.cell_file.cell_file import load_cell

CONFIG = Path(__file__).parents[2] / "config"


@cache
def loaded(name="demo"):
    """The cell `config/<name>` and its state."""
    return load_cell(CONFIG / name / "cell.yaml")
