"""Changes of the scene that replace the robot of the demo by one with other limits."""

import re

import msgspec
from frozendict import frozendict
from loaded_cells import loaded

from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.msg import SceneChange
from robot_cell_planner.nodes.conversions.model_messages import cell_to_message

ROBOT = loaded()[0].robots["arm"]


def with_limit(joint, name, value):
    """The change that replaces the robot by one with another limit of a joint, by its name in the limits file."""
    pattern = rf"({joint}:.*?{name}: )\S+"
    text, count = re.subn(pattern, rf"\g<1>{value}", ROBOT.sources.limits, count=1, flags=re.DOTALL)
    assert count == 1
    return _replaced(msgspec.structs.replace(ROBOT, sources=msgspec.structs.replace(ROBOT.sources, limits=text)))


def own_limits_again():
    """The change that undoes the others."""
    return _replaced(ROBOT)


def _replaced(robot):
    models = cell_to_message(RobotCell(robots=frozendict({robot.name: robot})))
    return SceneChange(operation=SceneChange.REPLACE, models=models)
