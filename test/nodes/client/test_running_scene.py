"""Commands with `@running` start from the measured joints of the robot, which replace those of the stored state."""

import contextlib
import json
from pathlib import Path

import pytest
from running import DEMO
from sensor_msgs.msg import JointState

from robot_cell_planner import srv
from robot_cell_planner.commands.actions.cells import opened
from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import StaleStateError, TrajectoryStartError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.planning.problem.plan_file import plan_from_json
from robot_cell_planner.scene.scene import Scene

MEASURED = {"elbow_joint": 0.9, "shoulder_pan_joint": -0.4}  # [rad]
FINGER, OPENING = "finger_joint", 0.02  # [m]


@pytest.fixture(scope="module")
def stored(start_node, client):
    """The stored state of a scene node that has measured other joint values."""
    start_node("scene_node", cell_file=DEMO)
    values = MEASURED | {f"gripper/{FINGER}": OPENING}
    client.scene()
    publisher = client.node.create_publisher(JointState, "joint_states", reliable(10))
    message = JointState(name=list(values), position=list(values.values()))
    message.header.stamp = client.node.get_clock().now().to_msg()
    wait = srv.WaitForState.Request(min_joint_stamp=message.header.stamp, joint_names=list(values))
    wait.timeout.sec = 1
    while True:  # until the node has discovered the publisher
        publisher.publish(message)
        with contextlib.suppress(StaleStateError):
            client.call_service(srv.WaitForState, "scene/wait_for_state", wait)
            return client.scene()[0].state


def test_the_running_scene_has_the_measured_joints(stored, client):
    _, state = opened(Path("@running"), (), "", ())
    assert {name: state.configuration[name] for name in MEASURED} == MEASURED
    assert state.tools["gripper"].configuration[FINGER] == OPENING
    assert state == client.scene(measured=True)[0].state != stored == client.scene()[0].state


def test_a_motion_is_planned_from_the_measured_joints_and_verified_there(stored, tmp_path, capsys):
    file = str(tmp_path / "plan.json")
    assert main(["plan", "@running", "--joint", "shoulder_pan_joint=-0.2", "--output", file]) == 0
    plan = plan_from_json(Path(file).read_bytes())
    begin = dict(zip(plan.variables, plan.path[0].tolist(), strict=True))
    assert begin == dict(stored.configuration) | MEASURED
    assert main(["verify", "@running", file]) == 0
    capsys.readouterr()


def test_poses_are_those_of_the_measured_joints(stored, capsys):
    poses = []
    for words in (["@running"], [str(DEMO), *(f"--from-joint={name}={value}" for name, value in MEASURED.items())]):
        assert main(["fk", *words, "tool0", "--json"]) == 0
        poses.append(json.loads(capsys.readouterr().out)["poses"])
    assert poses[0] == poses[1]


@pytest.mark.parametrize(("given", "domain_text"), [("", "ROS_DOMAIN_ID not set (0)"), ("7", "ROS_DOMAIN_ID=7")])
def test_a_failure_reports_where_nodes_were_searched(given, domain_text, domain, monkeypatch, capsys):
    monkeypatch.setattr("robot_cell_planner.commands.actions.running.APPEARS_WITHIN", 0.1)
    monkeypatch.setenv("ROS_DOMAIN_ID", given)
    assert main(["fk", "@running/cell9", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["name"] == "ServiceUnavailableError"
    place = f"Cells run in namespace /. Searched in namespace /cell9, {domain_text}"
    assert error["message"].endswith(f"in this domain? {place}")
    assert "`robot_cell up` prints the ROS_DOMAIN_ID of its nodes" in error["remedy"]


class Client:
    """A client of nodes whose robot is not at the start of a plan."""

    def __init__(self, scene):
        self._scene = scene

    def scene(self, retries, *, measured):
        assert measured
        return self._scene, 7


def test_a_plan_that_begins_elsewhere_is_explained_by_the_joint_that_differs_most(tmp_path, monkeypatch, capsys):
    file = str(tmp_path / "plan.json")
    assert main(["plan", str(DEMO), "--from-joint", "elbow_joint=1.0", "--to", "home", "--output", file]) == 0
    cell, state = load_cell(DEMO)
    elsewhere = Scene(cell, state.with_configuration({"elbow_joint": 1.5, "wrist_1_joint": -1.5}))

    def refuse(*_):
        raise TrajectoryStartError("the trajectory does not start at the position of wrist_1_joint", stage="execution")

    monkeypatch.setattr("robot_cell_planner.nodes.client.plan_execution.execute_plan", refuse)
    connect = "robot_cell_planner.commands.actions.execute.running_client"
    monkeypatch.setattr(connect, lambda _: contextlib.nullcontext(Client(elsewhere)))
    capsys.readouterr()
    assert main(["execute", "@running", file, "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["name"] == "TrajectoryStartError"
    assert error["message"].startswith("the trajectory does not start at the position of wrist_1_joint; ")
    assert "elbow_joint differs most: the plan begins at 1 rad, and this state has 1.5 rad" in error["message"]
    assert "`robot_cell plan @running`" in error["remedy"]
