"""The cells in config/ agree with manufacturers' data, are consistent, and need motion planning for their tasks."""

from __future__ import annotations

import math
import os
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np
import pytest
from loaded_cells import loaded
from lxml import etree

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.io.robot_description.xacro_files import expand_xacro
from robot_cell_planner.kinematics.forward import forward_batch
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.kinematics.transforms import WorldTransforms
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.model.pose import IDENTITY, Pose
from robot_cell_planner.model.state import RobotCellState

ROOT = Path(__file__).parents[2]
CELLS = ("demo", "ur10")

# Denavit-Hartenberg parameters of the UR10e as published by the manufacturer: a, d [m], alpha [rad].
UR10E = (
    (0.0, 0.1807, math.pi / 2),
    (-0.6127, 0.0, 0.0),
    (-0.57155, 0.0, 0.0),
    (0.0, 0.17415, math.pi / 2),
    (0.0, 0.11985, -math.pi / 2),
    (0.0, 0.11655, 0.0),
)
UR10E_MASSES = {
    "shoulder_link": 7.369, "upper_arm_link": 13.051, "forearm_link": 3.989,
    "wrist_1_link": 2.1, "wrist_2_link": 1.98, "wrist_3_link": 0.615,
}  # fmt: skip


@lru_cache(maxsize=len(CELLS))
def cell_of(name: str) -> tuple[RobotCell, RobotCellState]:
    return loaded(name)


def samples(cell: RobotCell, count: int, seed: int) -> np.ndarray:
    """Configurations of the arm, evenly within its limits."""
    limits = [cell.variables[name].limits for name in cell.group().variables]
    low, high = [limit.lower for limit in limits], [limit.upper for limit in limits]
    return np.random.default_rng(seed).uniform(low, high, (count, len(limits)))


def carrying(cell: RobotCell, state: RobotCellState) -> RobotCellState:
    """The state with the workpiece in the closed gripper."""
    grasp = cell.frames["grasp"]
    workpiece = msgspec.structs.replace(
        state.bodies["workpiece"],
        attached_to="gripper/tcp",
        pose=grasp.pose.inverse(),
        touch_links=("gripper/left_finger", "gripper/right_finger"),
        touch_bodies=(),
    )
    gripper = state.tools["gripper"].with_configuration({"finger_joint": 0.025})
    return state.with_tool("gripper", gripper).with_body("workpiece", workpiece)


def denavit_hartenberg(q: np.ndarray) -> np.ndarray:
    result = np.diag([-1.0, -1.0, 1.0, 1.0])  # half a turn from base_link to the manufacturer's base frame
    for angle, (a, d, alpha) in zip(q, UR10E, strict=True):
        c, s, ca, sa = math.cos(angle), math.sin(angle), math.cos(alpha), math.sin(alpha)
        result = result @ [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]
    return result


def test_arm_has_the_kinematics_of_the_manufacturer():
    cell, state = cell_of("demo")
    group = cell.group()
    configurations = samples(cell, 200, seed=1)
    base_inverse = np.linalg.inv(state.base_poses["arm"].matrix)
    found = forward_batch(cell, state, "tool0", group.variables, configurations)
    for q, world_T_tool in zip(configurations, found, strict=True):
        np.testing.assert_allclose(base_inverse @ world_T_tool, denavit_hartenberg(q), atol=1e-9)


def test_arm_has_the_masses_of_the_manufacturer():
    links = cell_of("demo")[0].robot.mechanism.links
    assert {name: links[name].inertial.mass for name in UR10E_MASSES} == UR10E_MASSES


@pytest.mark.parametrize("name", CELLS)
def test_inertias_are_those_of_solid_objects(name):
    cell, _ = cell_of(name)
    mechanisms = [cell.robot.mechanism, cell.tools["gripper"].mechanism]
    inertials = [link.inertial for mechanism in mechanisms for link in mechanism.links.values()]
    assert sum(inertial is not None and inertial.mass > 0.0 for inertial in inertials) >= 10
    for inertial in inertials:
        if inertial is not None and inertial.mass > 0.0:
            ixx, ixy, ixz, iyy, iyz, izz = inertial.inertia
            moments = np.linalg.eigvalsh([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
            assert 0.0 < moments[0] <= moments[1] <= moments[2] <= (moments[0] + moments[1]) * (1.0 + 1e-9)


@pytest.mark.parametrize("name", CELLS)
def test_limits_are_complete_and_within_the_description(name):
    cell, _ = cell_of(name)
    for variable in cell.group().variables:
        limits = cell.variables[variable].limits
        assert limits.defaulted == ()
        assert -2.0 * math.pi - 1e-9 <= limits.lower < limits.upper <= 2.0 * math.pi + 1e-9
        assert min(limits.velocity, limits.acceleration, limits.jerk) > 0.0


@pytest.mark.parametrize("name", CELLS)
def test_home_is_the_start_state_and_free(name):
    cell, state = cell_of(name)
    cell.check_state(state)
    home = cell.robot.named_state("manipulator", "home")
    assert {joint: state.configuration[joint] for joint in home} == dict(home)
    CollisionChecker(cell, state).check()


@pytest.mark.parametrize("name", CELLS)
def test_named_states_are_free(name):
    cell, state = cell_of(name)
    checker = CollisionChecker(cell, state, group="")
    for key, values in cell.robot.named_states.items():
        report = checker.report(np.array([values[joint] for joint in checker.variables]))
        assert not report.pairs, f"{key}: {report}"


@pytest.mark.parametrize("name", CELLS)
def test_pairs_that_never_collide_do_not(name):
    """The pairs that the SRDF disables with the reason "Never", with their checks enabled."""
    cell, state = cell_of(name)
    never = {frozenset((p.first, p.second)) for p in cell.robot.disabled_pairs if p.reason == "Never"}
    others = tuple(p for p in cell.robot.disabled_pairs if p.reason != "Never")
    robot = msgspec.structs.replace(cell.robot, disabled_pairs=others)
    alone = msgspec.structs.replace(cell, robots=type(cell.robots)({robot.name: robot}), bodies=type(cell.bodies)(),
                                    frames=type(cell.frames)())  # fmt: skip
    checker = CollisionChecker(alone, msgspec.structs.replace(state, bodies=type(state.bodies)()), group="")
    colliding = set()
    for q in samples(cell, 2000, seed=2):
        colliding |= {frozenset((pair.first, pair.second)) for pair in checker.report(q).pairs}
    assert never
    assert not never & colliding
    assert len(colliding) >= 5  # the samples do reach collisions of the arm with itself


@pytest.mark.parametrize("name", CELLS)
def test_workpiece_lies_on_the_table_at_the_place_to_pick(name):
    cell, state = cell_of(name)
    world = WorldTransforms(cell, state)
    distance, angle = world.pose("grasp").distance_to(world.pose("pick"))
    assert distance < 1e-9
    assert angle < 1e-9
    bottom = world.pose("workpiece").position[2] - 0.5 * cell.bodies["workpiece"].collisions[0].geometry.size[2]
    assert bottom == pytest.approx(world.pose("table").position[2], abs=1e-12)
    down = world.matrix("pick")[:3, 2]
    np.testing.assert_allclose(down, [0.0, 0.0, -1.0], atol=1e-9)
    np.testing.assert_allclose(world.matrix("above_pick")[:3, 2], down, atol=1e-12)


@pytest.mark.parametrize("name", CELLS)
def test_workpiece_at_its_goal_rests_on_the_floor_of_the_bin(name):
    cell, state = cell_of(name)
    world = WorldTransforms(cell, state)
    floor = cell.bodies["bin"].collisions[0]
    bottom = world.pose("place", "bin").position[2] - 0.5 * cell.bodies["workpiece"].collisions[0].geometry.size[2]
    assert bottom == pytest.approx(floor.pose.position[2] + 0.5 * floor.geometry.size[2], abs=1e-12)
    assert world.pose("over_bin").position[:2] == pytest.approx(world.pose("place").position[:2], abs=1e-9)


@pytest.mark.parametrize("name", CELLS)
def test_every_pose_has_several_solutions(name):
    cell, state = cell_of(name)
    held = carrying(cell, state)
    resting = held.with_body(
        "workpiece", msgspec.structs.replace(held.bodies["workpiece"], touch_bodies=("bin", "table"))
    )
    poses = (
        (state, TargetMode.TOOL, "above_pick"), (state, TargetMode.TOOL, "pick"),
        (held, TargetMode.TOOL, "above_pick"), (held, TargetMode.WORKPIECE, "over_bin"),
        (resting, TargetMode.WORKPIECE, "place"),
    )  # fmt: skip
    for start, mode, frame in poses:
        checker = CollisionChecker(cell, start, group="")
        target = FrameTarget(mode=mode, pose=IDENTITY, reference_frame=frame)
        found = inverse_kinematics(cell, start, target, is_valid=lambda q, c=checker: not c.in_collision(q))
        assert len(found) >= 2, f"{frame}: {len(found)} solutions"
        assert found.limit_distances().max() > 0.3


@pytest.mark.parametrize(("name", "obstacle"), [("demo", "post"), ("ur10", "wall")])
def test_the_straight_paths_to_the_bin_are_blocked(name, obstacle):
    """In joint space to the nearest solution, and along a line of the tool centre point."""
    cell, state = cell_of(name)
    held = carrying(cell, state)
    checker = CollisionChecker(cell, held, group="")

    def reach(start: RobotCellState, mode: TargetMode, pose: Pose, reference: str = "world") -> np.ndarray:
        target = FrameTarget(mode=mode, pose=pose, reference_frame=reference)
        return inverse_kinematics(cell, start, target).best

    def hit(q: np.ndarray) -> bool:
        return any(obstacle in (pair.first, pair.second) for pair in checker.report(q).pairs)

    above = reach(held, TargetMode.TOOL, IDENTITY, "above_pick")
    at_start = held.with_configuration(dict(zip(checker.variables, above.tolist(), strict=True)))
    over = reach(at_start, TargetMode.WORKPIECE, IDENTITY, "over_bin")
    assert any(hit(above + share * (over - above)) for share in np.linspace(0.0, 1.0, 41))

    world = WorldTransforms(cell, at_start)
    first, last = world.pose("workpiece"), world.pose("over_bin")
    hits = []
    for share in np.linspace(0.0, 1.0, 21):
        position = tuple((1.0 - share) * np.array(first.position) + share * np.array(last.position))
        q = reach(at_start, TargetMode.WORKPIECE, Pose(position, first.quaternion))
        at_start = at_start.with_configuration(dict(zip(checker.variables, q.tolist(), strict=True)))
        hits.append(hit(q))
    assert any(hits)


def test_fingers_move_together_and_meet_in_the_middle():
    mechanism = cell_of("demo")[0].tools["gripper"].mechanism
    assert [variable.name for variable in mechanism.variables] == ["finger_joint"]
    assert mechanism.mimic_source("right_finger_joint") == ("finger_joint", 1.0, 0.0)
    assert mechanism.joints["finger_joint"].kind is JointKind.PRISMATIC
    cell, state = cell_of("demo")
    closed = state.with_tool("gripper", state.tools["gripper"].with_configuration({"finger_joint": 0.0}))
    world = WorldTransforms(cell, closed)
    np.testing.assert_allclose(world.matrix("gripper/left_finger"), world.matrix("gripper/right_finger"), atol=1e-12)


def test_description_serves_ros2_control():
    text = expand_xacro(ROOT / "urdf" / "arm_with_gripper.urdf.xacro", {"joint_commands_topic": "/cell/joint_commands"})
    root = etree.fromstring(text.encode())
    hardware = root.find("ros2_control/hardware")
    assert hardware.findtext("plugin") == "joint_state_topic_hardware_interface/JointStateTopicSystem"
    parameters = {parameter.get("name"): parameter.text for parameter in hardware.findall("param")}
    assert parameters["joint_commands_topic"] == "/cell/joint_commands"
    assert parameters["joint_states_topic"] == "joint_states"

    _, state = cell_of("demo")
    joints = {joint.get("name"): joint for joint in root.findall("ros2_control/joint")}
    movable = {joint.get("name") for joint in root.findall("joint") if joint.get("type") != "fixed"}
    # The hardware names every joint of the block, but sends positions only of those with a command interface.
    assert set(joints) == movable - {"right_finger_joint"}
    starts = {**state.configuration, **state.tools["gripper"].configuration}
    assert set(starts) == set(joints)
    for name, value in starts.items():
        for interface in ("command_interface", "state_interface"):
            assert float(joints[name].findtext(f"{interface}[@name='position']/param")) == value


def test_description_without_ros2_control_has_no_such_block():
    text = expand_xacro(ROOT / "urdf" / "arm.urdf.xacro", {})
    assert etree.fromstring(text.encode()).find("ros2_control") is None


def test_meshes_of_the_second_cell_come_from_the_package():
    cell, _ = cell_of("ur10")
    meshes = [shape.geometry for link in cell.robot.mechanism.links.values() for shape in link.visuals]
    assert len(meshes) >= 7
    for mesh in meshes:
        if hasattr(mesh, "uri"):
            assert mesh.uri.startswith("package://example-robot-data/")
            assert os.path.isabs(mesh.path)
