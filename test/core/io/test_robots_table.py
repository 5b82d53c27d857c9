"""docs/robots.md equals the output of its script. Only a few rows are checked, because all would take a minute."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("describe_robots", ROOT / "tools" / "describe_robots.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_description_has_a_row(script):
    lines = (ROOT / "docs" / "robots.md").read_text().partition("\n## ")[0].splitlines()
    assert [line.split(" | ")[0].strip("| ") for line in lines[-len(list(script.descriptions())) :]] == [
        name for name, _ in script.descriptions()
    ]


@pytest.mark.parametrize(
    "name",
    [
        "ur_description/urdf/ur10_robot.urdf",
        "panda_description/urdf/panda.urdf",
        "pybullet_data/kuka_iiwa/model.urdf",
        "alex_description/urdf/alex_psyonic_hands.urdf",
        "romeo_description/urdf/romeo_laas_small.urdf",
    ],
)
def test_rows_are_current(script, name):
    path = dict(script.descriptions())[name]
    assert script.row(name, path) in (ROOT / "docs" / "robots.md").read_text()
