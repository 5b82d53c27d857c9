import sys
from pathlib import Path

import pytest

from robot_cell_planner.cell.cell_file import load_cell

sys.path.insert(0, str(Path(__file__).parent))

DEMO = Path(__file__).parents[3] / "config/demo/cell.yaml"


@pytest.fixture(scope="session")
def demo():
    """The cell of the demonstration and its state."""
    return load_cell(DEMO)
