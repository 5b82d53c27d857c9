"""The real scene, planning and execution nodes, and a robot that moves."""

import pytest
from action_goals import execute
from case_files import case_of
from fake_robot import FakeRobot, swing
from motion_faults import (
    ARM,
    ELSEWHERE,
    EXECUTION,
    FAR,
    FINGER,
    HOME,
    STATE,
    scale_client,
    start_at,
)
from running import DEMO, wait_until_answered
from std_msgs.msg import String

from robot_cell_planner import srv


class World:
    """The processes of this module; those that a test has killed are started again for the next one."""

    def __init__(self, start, case_folder):
        self._start = start
        self._parameters = {
            "scene_node": {"cell_file": DEMO},
            "planning_node": {"resolution": 0.005, "case_folder": str(case_folder), "cases_kept": 100},
            "execution_node": EXECUTION,
        }
        self.nodes = {name: start(name, **given) for name, given in self._parameters.items()}

    def heal(self):
        for name, node in self.nodes.items():
            if node.process.poll() is not None:
                self.nodes[name] = self._start(name, **self._parameters[name])


@pytest.fixture(scope="module")
def robot(client):
    robot = FakeRobot(client.node, (*ARM, FINGER))
    robot.put(**dict(zip(ARM, HOME, strict=True)), **{FINGER: STATE.tools["gripper"].configuration[FINGER]})
    return robot


class Mode:
    """Publishes the mode of the robot repeatedly, also for nodes that start later."""

    def __init__(self, node):
        self.value = "automatic"
        self._publisher = node.create_publisher(String, "robot_mode", 1)
        self._timer = node.create_timer(0.05, lambda: self._publisher.publish(String(data=self.value)))


@pytest.fixture(scope="module")
def mode(client):
    return Mode(client.node)


@pytest.fixture(scope="module")
def case_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cases")


@pytest.fixture(scope="module")
def world(start_node, client, robot, mode, case_folder):
    world = World(start_node, case_folder)
    client.scene()
    wait_until_answered(scale_client(client), srv.SetSpeedScale.Request(scale=1.0))
    return world


@pytest.fixture(scope="module")
def start_mismatch(client, world, robot, case_folder):
    """The error and the case of a goal that starts away from the robot. The goal is sent until the case exists: before,
    the nodes may not have discovered each other's topics."""
    for _ in range(20):
        start_at(client, robot)
        sent = execute(client, swing(ARM, ELSEWHERE, FAR, duration=3.0, samples=31)).wait()
        error = sent.result.error
        # On a busy machine, the joint states may be too old instead.
        if error.name == "TrajectoryStartError" and (found := case_of(case_folder, error, tries=100)):
            return error, found
    raise AssertionError(f"no case was written; the last error was {error.name}: {error.message}")


@pytest.fixture(autouse=True)
def at_home(client, world, robot, mode):
    """All nodes run, the robot is at rest at home, and the workpiece is at its initial pose."""
    world.heal()
    robot.heal()
    mode.value = "automatic"
    yield
    robot.heal()
