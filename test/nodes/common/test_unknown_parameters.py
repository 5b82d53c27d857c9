"""Parameters at start that a node does not have are reported; rclpy ignores them without a word."""

import pytest
import yaml

from robot_cell_planner.nodes.common.unknown_parameters import unknown_parameters

DECLARED = ("time_limit", "sample_period", "gains.p")


def reported(arguments, node="planning_node"):
    return unknown_parameters(arguments, node, (*DECLARED, "use_sim_time").__contains__, DECLARED)


@pytest.fixture
def file(tmp_path):
    """Write a file of parameters, and return the arguments that name it."""

    def file(content):
        path = tmp_path / "given.yaml"
        path.write_text(yaml.safe_dump(content))
        return ["planning_node", "--ros-args", "--params-file", str(path)]

    return file


@pytest.mark.parametrize(
    "content",
    [
        {"planning_node": {"ros__parameters": {"time_limt": 5.0}}},
        {"/**/planning_node": {"ros__parameters": {"time_limt": 5.0}}},
        {"cell1": {"planning_node": {"ros__parameters": {"time_limt": 5.0}}}},
    ],
)
def test_a_misspelt_parameter_is_reported_with_the_nearest(file, content):
    (text,) = reported(file(content))
    assert text.endswith("given.yaml: planning_node has no parameter time_limt, which is ignored; nearest: time_limit")


def test_a_nested_name_is_joined_by_dots(file):
    given = {"planning_node": {"ros__parameters": {"gains": {"p": 1.0, "q": 2.0}}}}
    (text,) = reported(file(given))
    assert "has no parameter gains.q, which is ignored; nearest: gains.p" in text


def test_a_misspelt_node_is_reported_once(file):
    (text,) = reported(file({"/planing_node": {"ros__parameters": {"time_limit": 5.0, "sample_period": 0.1}}}))
    assert text.endswith("given.yaml: parameters of planing_node are ignored; this node is planning_node")


def test_parameters_of_other_nodes_and_of_all_nodes_are_not_reported(file):
    others = {"ros__parameters": {"tf_rate": 30.0}}
    used = {"ros__parameters": {"time_limit": 5.0, "use_sim_time": True, "qos_overrides./tf.publisher.depth": 1}}
    content = {"/**": others, "scene_node": others, "controller_manager": others, "planning_node": used}
    assert not reported([*file(content), "-p", "cell_file:=cell.yaml", "-p", "scene_node:tf_rate:=1.0"])


@pytest.mark.parametrize("argument", ["time_limt:=5.0", "planning_node:time_limt:=5.0"])
def test_a_misspelt_argument_is_reported(argument):
    (text,) = reported(["planning_node", "--ros-args", "-p", argument])
    assert text.startswith(f"-p {argument}: planning_node has no parameter time_limt")


def test_a_running_node_warns(start_node):
    node = start_node("kinematics_node", ik_restart=5)
    assert node.wait_for("kinematics_node has no parameter ik_restart, which is ignored; nearest: ik_restarts")
