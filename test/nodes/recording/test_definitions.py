"""Definitions in bags have the hashes that the interface compiler computed, for all types of the installation."""

import re
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_share_directory
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

from robot_cell_planner.errors import ResourceError
from robot_cell_planner.nodes.recording.definitions import SEPARATOR, definition_of

PACKAGES = (
    "action_msgs",
    "builtin_interfaces",
    "control_msgs",
    "diagnostic_msgs",
    "geometry_msgs",
    "rcl_interfaces",
    "robot_cell_planner",
    "sensor_msgs",
    "std_msgs",
    "tf2_msgs",
    "trajectory_msgs",
    "visualization_msgs",
)


def types_of(package):
    share = Path(get_package_share_directory(package))
    for path in sorted(share.glob("msg/*.json")):
        yield f"{package}/msg/{path.stem}"
    for path in sorted(share.glob("srv/*.json")):
        yield f"{package}/srv/{path.stem}_Event"
    for path in sorted(share.glob("action/*.json")):
        for part in ("FeedbackMessage", "SendGoal_Event", "GetResult_Event"):
            yield f"{package}/action/{path.stem}_{part}"


def types_in(text, name):
    """Types of a definition, read as the library does when it opens a bag."""
    if not text.startswith(SEPARATOR):
        return get_types_from_msg(text, name)
    types = {}
    for part in text.split(SEPARATOR + "\n")[1:]:
        types.update(get_types_from_idl(part.partition("\n")[2]))
    return types


@pytest.mark.parametrize("package", PACKAGES)
def test_definitions_have_the_hashes_of_the_interface_compiler(package):
    count = 0
    for name in types_of(package):
        if name == "std_msgs/msg/Char":
            continue  # rosidl's char is an uint8, that of the library is not
        definition = definition_of(name)
        store = get_typestore(Stores.EMPTY)
        store.register(types_in(definition.text, name))
        assert store.hash_rihs01(name) == definition.hash, name
        count += 1
    assert count > 0


@pytest.mark.parametrize(
    "name", ["std_msgs/Header", "nothing/msg/Header", "std_msgs/msg/Nothing", "std_msgs/other/Header", "Header"]
)
def test_a_type_that_is_not_installed_is_named(name):
    with pytest.raises(ResourceError, match=re.escape(name)):
        definition_of(name)
