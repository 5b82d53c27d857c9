"""The launch files start the nodes with the parameters of the user. Stand-ins of launch record what they are given."""

import runpy
import sys
import tempfile
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from sources import ROOT

from robot_cell_planner.errors import FileError
from robot_cell_planner.nodes.bringup.command_line import MOVEIT, NODES
from robot_cell_planner.nodes.bringup.program import STOP_TIME
from robot_cell_planner.nodes.common.launched import launch_variables

ARGUMENTS = {
    "respawn": "true",
    "frame_prefix": "",
    "enclave_prefix": "",
    "namespace": "",
    "description": "arm.xacro",
    "description_arguments": "",
    **{name: str(ROOT / "config" / "parameters.yaml") for name in ("params", "controllers", "gripper")},
}
MODULES = {
    "launch": ["LaunchDescription"],
    "launch.actions": [
        *("DeclareLaunchArgument", "GroupAction", "IncludeLaunchDescription", "OpaqueFunction"),
        *("SetEnvironmentVariable", "Shutdown"),
    ],
    "launch.conditions": ["IfCondition"],
    "launch.logging": [],
    "launch.launch_description_sources": ["PythonLaunchDescriptionSource"],
    "launch.substitutions": ["Command", "FindExecutable", "LaunchConfiguration", "PathJoinSubstitution"],
    "launch_ros": [],
    "launch_ros.actions": ["Node"],
    "launch_ros.parameter_descriptions": ["ParameterValue"],
    "launch_ros.substitutions": ["FindPackageShare"],
}


class Recorded:
    """Stand-in that keeps its arguments."""

    def __init__(self, *args, **keywords):
        self.args, self.keywords = args, keywords

    @property
    def name(self):
        return self.args[0]

    def perform(self, context):
        """Return the text of a substitution: a configuration by its name, or an executable or path by what it is of."""
        if not self.args:
            return self.keywords["name"]
        (given,) = self.args
        return context[given] if isinstance(given, str) else "/".join(map(str, given))


class Context(dict):
    """Arguments by name, and those of the command line."""

    argv = ()


@pytest.fixture
def warnings():
    """What the launch files have warned of."""
    return []


@pytest.fixture
def launched(monkeypatch, tmp_path, warnings):
    """Function that returns the nodes of a launch file by their executables, for some arguments. argv: the command
    line."""
    for name, classes in MODULES.items():
        module = ModuleType(name)
        for each in classes:
            setattr(module, each, type(each, (Recorded,), {}))
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["launch.logging"].get_logger = lambda _: SimpleNamespace(warning=warnings.append)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def launched(file, argv=(), **arguments):
        context = Context(ARGUMENTS | arguments)
        context.argv = argv
        before = list(tmp_path.iterdir())
        found = runpy.run_path(str(ROOT / "launch" / file))["generate_launch_description"]()
        assert list(tmp_path.iterdir()) == before, "a description alone writes nothing"
        (entities,) = found.args
        actions = [each for each in entities if type(each).__name__ == "Node"]
        for each in entities:
            if type(each).__name__ == "OpaqueFunction":
                actions += each.keywords["function"](context, *each.keywords.get("args", ())) or []
        return {each.keywords["executable"]: each.keywords for each in actions}

    return launched


@pytest.fixture
def declared(launched):
    """Function that returns the declarations of the arguments of a launch file, by name."""

    def declared(file):
        (entities,) = runpy.run_path(str(ROOT / "launch" / file))["generate_launch_description"]().args
        return {each.name: each.keywords for each in entities if type(each).__name__ == "DeclareLaunchArgument"}

    return declared


def values(parameters):
    """Return what a node is given besides the file of parameters, each as text or number."""
    given = {name: value for each in parameters if isinstance(each, dict) for name, value in each.items()}
    return {name: value.args[0] if isinstance(value, Recorded) else value for name, value in given.items()}


def file_of_user(parameters):
    """Return the places of the file of parameters of the user."""
    return [place for place, each in enumerate(parameters) if isinstance(each, Recorded) and each.args == ("params",)]


def test_the_execution_node_has_time_to_stop_its_motions(launched):
    """A second signal would end it at once."""
    nodes = launched("cell.launch.py")
    assert {name for name, node in nodes.items() if "sigterm_timeout" in node} == {"execution_node"}
    assert float(nodes["execution_node"]["sigterm_timeout"]) == STOP_TIME


@pytest.mark.parametrize("prefix", ["", "cell1/"])
def test_nodes_that_publish_names_of_frames_have_their_prefix(launched, prefix):
    nodes = launched("cell.launch.py", frame_prefix=prefix)
    assert set(nodes) == {f"{name}_node" for name in (*NODES, MOVEIT)}
    nodes["robot"] = launched("ros2_control.launch.py", frame_prefix=prefix)["simulated_robot_node"]
    prefixed = {name: values(node["parameters"]).get("frame_prefix") for name, node in nodes.items()}
    expected = {"scene_node", "simulated_robot_node", "robot"} if prefix else set()
    assert prefixed == {name: prefix if name in expected else None for name in nodes}


def test_the_robot_beside_a_controller_manager_has_the_parameters_of_the_user(launched):
    parameters = launched("ros2_control.launch.py")["simulated_robot_node"]["parameters"]
    assert file_of_user(parameters) == [0], "what follows overrides it"
    assert {name: values(parameters)[name] for name in ("rate", "command_delay")} == {
        "rate": 100,
        "command_delay": 0.02,
    }


@pytest.mark.parametrize("prefix, enclave", [("", []), ("/my/cell", ["--enclave", "/my/cell/simulated_robot_node"])])
def test_the_robot_is_in_its_enclave(launched, monkeypatch, prefix, enclave):
    monkeypatch.delenv("ROS_SECURITY_ENABLE", raising=False)
    for file in ("cell.launch.py", "ros2_control.launch.py"):
        assert launched(file, enclave_prefix=prefix)["simulated_robot_node"]["ros_arguments"] == enclave


def test_the_journal_is_in_a_folder_that_is_removed_at_the_end(launched, tmp_path, monkeypatch):
    ends = []
    monkeypatch.setattr("atexit.register", lambda *call, **keywords: ends.append((call, keywords)))
    journal = Path(values(launched("cell.launch.py")["scene_node"]["parameters"])["journal_file"])
    assert [journal.parent] == list(tmp_path.iterdir())
    journal.touch()
    for (function, *arguments), keywords in ends:
        function(*arguments, **keywords)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "file, argument",
    [("cell", "params"), ("ros2_control", "params"), ("ros2_control", "controllers"), ("ros2_control", "gripper")],
)
def test_a_file_of_parameters_that_does_not_exist_is_refused(launched, file, argument):
    """launch only warns of it, and the nodes would run with defaults, such as `mode: stream`."""
    with pytest.raises(FileError, match=f"{argument}:=nothing.yaml is no file: {Path.cwd() / 'nothing.yaml'}"):
        launched(f"{file}.launch.py", **{argument: "nothing.yaml"})


@pytest.mark.parametrize("file", ["cell.launch.py", "ros2_control.launch.py"])
def test_misspelt_arguments_are_warnings(launched, warnings, file):
    """launch ignores them: a simulated robot would run beside the real one."""
    launched(file, argv=["simulated_robt:=false", "parms:=p.yaml", "cell:=my.yaml", "robot_ip:=10.0.0.1", "--debug"])
    assert warnings == [
        "this launch file has no argument simulated_robt, which simulated_robt:=false gives; nearest: simulated_robot",
        "this launch file has no argument parms, which parms:=p.yaml gives; nearest: params",
    ]


def test_the_launch_file_beside_a_controller_manager_has_the_arguments_of_a_cell(declared):
    """With the same values. An argument that is missing would reach some of the nodes only: launch forgets none."""
    cell, both = declared("cell.launch.py"), declared("ros2_control.launch.py")
    assert set(cell) <= set(both)
    for name, declaration in cell.items():
        assert both[name].get("choices") == declaration.get("choices")
        assert "choices" not in declaration or both[name]["default_value"] == declaration["default_value"]


def test_the_nodes_of_the_cell_have_its_arguments(declared):
    namespace = runpy.run_path(str(ROOT / "launch" / "ros2_control.launch.py"))
    (entities,) = namespace["generate_launch_description"]().args
    (group,) = [each for each in entities if type(each).__name__ == "GroupAction"]
    ((include,),) = group.args
    given = dict(include.keywords["launch_arguments"])
    assert given.pop("simulated_robot") == "false", "it runs beside the controllers"
    assert {name: value.args for name, value in given.items()} == {
        name: (name,) for name in declared("cell.launch.py") if name != "simulated_robot"
    }


def test_all_programs_beside_a_controller_manager_have_the_same_time(launched):
    nodes = launched("ros2_control.launch.py")
    del nodes["spawner"]  # which uses services only
    assert {"simulated_robot_node", "robot_state_publisher", "ros2_control_node"} == set(nodes)
    for name, node in nodes.items():
        (value,) = [each["use_sim_time"] for each in node["parameters"] if isinstance(each, dict)]
        assert value.args[0].args == ("use_sim_time",), name
        assert value.keywords == {"value_type": bool}, name


def test_a_manager_of_lifecycles_starts_the_robot_beside_a_controller_manager(launched):
    """As the other nodes of the cell."""
    for file in ("cell.launch.py", "ros2_control.launch.py"):
        parameters = launched(file)["simulated_robot_node"]["parameters"]
        assert values(parameters)["autostart"].args == ("autostart",)


def test_all_nodes_end_with_the_launch(launched):
    for file in ("cell.launch.py", "ros2_control.launch.py"):
        nodes = {name: node for name, node in launched(file).items() if name.endswith("_node") and "package" in node}
        own = [node["additional_env"] for node in nodes.values() if node["package"] == "robot_cell_planner"]
        assert own
        assert own == [launch_variables()] * len(own)
