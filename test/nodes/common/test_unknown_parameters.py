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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_is_read_as_rcl_reads_it(tmp_path, encoding):
    """Documents, tags and values that PyYAML refuses or cannot convert ended the start with a traceback."""
    text = """
controller_manager:
  ros__parameters: {date: 2026-13-45, angle: !deg 5.0, name: =}
---
planning_node:
  ros__parameters: {time_limt: 5.0}
"""
    path = tmp_path / "given.yaml"
    path.write_bytes(text.encode(encoding))
    (found,) = reported(["planning_node", "--ros-args", "--params-file", str(path)])
    assert "has no parameter time_limt" in found


def test_nodes_with_similar_names_in_one_file_are_no_mistake(file):
    parameters = {"ros__parameters": {"time_limit": 5.0}}
    assert not reported(file({"planning_node_1": parameters, "planning_node_2": parameters}), "planning_node_2")
    (text,) = reported(file({"planning_node_1": parameters}), "planning_node_2")
    assert text.endswith("parameters of planning_node_1 are ignored; this node is planning_node_2")


def test_arguments_that_are_not_those_of_ros_are_left_out():
    other = ["-p", "8080", "--params-file", "of_another_program.yaml"]
    assert not reported(["program", *other])
    (text,) = reported(["program", *other, "--ros-args", "-p", "time_limt:=5.0", "--", *other])
    assert "has no parameter time_limt" in text


def test_a_running_node_warns(start_node):
    node = start_node("kinematics_node", ik_restart=5)
    assert node.wait_for("kinematics_node has no parameter ik_restart, which is ignored; nearest: ik_restarts")
