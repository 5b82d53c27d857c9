"""The command that expands the description for ros2_control, in the launch file with substitutes for `launch`."""

import logging
import shlex
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

LAUNCH = Path(__file__).parents[2] / "launch" / "ros2_control.launch.py"
XACRO = "/opt/ros tools/bin/xacro"


class Performed:
    """A substitution: its parts are texts, or substitutions that a context resolves."""

    def __init__(self, *parts, name=""):
        self.parts, self.name = parts[0] if parts and isinstance(parts[0], list) else parts, name

    def perform(self, context):
        return "".join(part if isinstance(part, str) else part.perform(context) for part in self.parts)


class Configuration(Performed):
    def perform(self, context):
        return context[self.parts[0]]


class Joined(Performed):
    def perform(self, context):
        return str(Path(*(part if isinstance(part, str) else part.perform(context) for part in self.parts)))


class Executable(Performed):
    def perform(self, _):
        return XACRO


class Kept(SimpleNamespace):
    """An action: what it was made of."""

    def __init__(self, *values, **named):
        super().__init__(values=values, **named)


class Declared(Kept):
    @property
    def name(self):
        return self.values[0]


CLASSES = {
    "launch": {"LaunchDescription": Kept},
    "launch.actions": {"DeclareLaunchArgument": Declared}
    | dict.fromkeys(
        (
            "GroupAction",
            "IncludeLaunchDescription",
            "OpaqueFunction",
            "SetEnvironmentVariable",
            "Shutdown",
        ),
        Kept,
    ),
    "launch.conditions": {"IfCondition": Kept},
    "launch.launch_description_sources": {"PythonLaunchDescriptionSource": Kept},
    "launch.logging": {"get_logger": logging.getLogger},
    "launch.substitutions": {
        "Command": Performed,
        "FindExecutable": Executable,
        "LaunchConfiguration": Configuration,
        "PathJoinSubstitution": Joined,
    },
    "launch_ros": {},
    "launch_ros.actions": {"Node": Kept},
    "launch_ros.parameter_descriptions": {"ParameterValue": Kept},
    "launch_ros.substitutions": {"FindPackageShare": Performed},
}


@pytest.fixture
def description(monkeypatch):
    """The launch description."""
    for name, classes in CLASSES.items():
        module = ModuleType(name)
        module.__dict__.update(classes)
        monkeypatch.setitem(sys.modules, name, module)
    namespace = {"__name__": "ros2_control_launch"}
    exec(compile(LAUNCH.read_text(), LAUNCH, "exec"), namespace)
    return namespace["generate_launch_description"]()


def command(description, context):
    """The words of the command, as `launch.substitutions.Command` splits its text."""
    for action in description.values[0]:
        found = action.function(context, *getattr(action, "args", ())) if hasattr(action, "function") else [action]
        for node in found or ():
            if getattr(node, "package", "") == "robot_state_publisher":
                return shlex.split(node.parameters[0]["robot_description"].values[0].perform(context))
    raise AssertionError("no node publishes the description")


class Context(dict):
    """The values of arguments, and the words of the command line."""

    argv = ()

    def __or__(self, values):
        return Context({**self, **values})


CONTEXT = Context(
    description="arm.urdf.xacro",
    description_arguments="",
    namespace="line_1",
    frame_prefix="",
    enclave_prefix="",
    **dict.fromkeys(("params", "controllers", "gripper"), str(LAUNCH)),  # which exist
)
TOPICS = ["joint_commands_topic:=/line_1/robot/joint_commands", "joint_states_topic:=/line_1/robot/joint_states"]


@pytest.mark.parametrize("path", ["arm.urdf.xacro", "/my robots/arm 1.urdf.xacro", "it's.xacro", 'a "b" $c.xacro'])
def test_the_path_of_the_description_is_one_word(description, path):
    assert command(description, CONTEXT | {"description": path}) == [XACRO, path, *TOPICS]


def test_arguments_of_the_description_are_separate_words(description):
    arguments = "ur_type:=ur5e name:='my robot'"
    words = command(description, CONTEXT | {"description_arguments": arguments})
    assert words == [XACRO, "arm.urdf.xacro", "ur_type:=ur5e", "name:=my robot", *TOPICS]


def test_every_argument_that_is_used_is_declared(description):
    declared = {action.values[0] for action in description.values[0] if hasattr(action, "description")}
    assert set(CONTEXT) <= declared
