"""Robots on links of other robots and on bodies move like one robot description with fixed joints between them."""

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from kinematic_cells import arm, random_pose, stacked_cell
from reference import reference_world_pose

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import FrameCycleError, NotSupportedError, UnknownNameError
from robot_cell_planner.kinematics.differential import jacobians
from robot_cell_planner.kinematics.dynamics import Dynamics
from robot_cell_planner.kinematics.forward import all_link_poses, forward_batch
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.kinematics.targets import FrameTarget
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.mechanism import Joint, JointKind, Link, Mechanism
from robot_cell_planner.model.placement import Placements, placements
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState

replace = msgspec.structs.replace


def in_one_description(cell, state):
    """The same cell with a single robot, in which fixed joints replace the attachments."""
    links, joints = {}, {}
    for robot in reversed(cell.robots.values()):
        parent, pose = robot.attached_to, state.base_poses[robot.name]
        while parent in cell.bodies or parent in cell.frames:
            at = state.bodies.get(parent) or cell.frames[parent]
            parent, pose = at.attached_to, at.pose @ pose
        root = robot.mechanism.root
        if not parent:
            parent = "ground"
            links[parent] = Link(parent)
        links.update(robot.mechanism.links)
        joints.update(robot.mechanism.joints)
        joints[f"to_{root}"] = Joint(f"to_{root}", JointKind.FIXED, parent, root, pose)
    groups = frozendict({name: group for robot in cell.robots.values() for name, group in robot.groups.items()})
    whole = Robot("whole", Mechanism("whole", frozendict(links), frozendict(joints)), groups)
    return replace(cell, robots=frozendict({"whole": whole})), replace(state, base_poses=frozendict({"whole": Pose()}))


@pytest.fixture(scope="module", params=range(3))
def stack(request):
    cell, state = stacked_cell(request.param)
    cell.check_state(state)
    return cell, state


def same_order(one, other):
    """Index in `other` of each variable of `one`."""
    return [other.index(name) for name in one]


def test_poses_are_those_of_one_description_and_of_the_frame_tree(stack):
    whole, tree = all_link_poses(*in_one_description(*stack)), Placements(placements(*stack))
    for name, pose in all_link_poses(*stack).items():
        for other in (whole[name], tree.world(name)):
            distance, angle = pose.distance_to(other)
            assert distance < 1e-9, name
            assert angle < 1e-7, name


def test_a_robot_follows_a_body_that_moves(stack):
    """Also if results for the previous state are cached."""
    cell, state = stack
    desk = BodyState(random_pose(np.random.default_rng(5), 0.3), "spot")
    wall = RigidBody("wall", (Shape(Box((4.0, 4.0, 4.0))),))
    cell = replace(cell, bodies=cell.bodies.set("wall", wall))
    near = state.with_body("wall", BodyState(reference_link(cell, state, "one_root") @ Pose((1.9, 0.0, 0.0))))
    link = cell.robots["one"].mechanism.links["one_root"]
    links = cell.robots["one"].mechanism.links.set("one_root", replace(link, collisions=(CUBE,)))
    mechanism = replace(cell.robots["one"].mechanism, links=links)
    cell = replace(cell, robots=cell.robots.set("one", replace(cell.robots["one"], mechanism=mechanism)))
    assert "one_root" in str(CollisionChecker(cell, near).report(max_pairs=100).pairs)
    away = near.with_body("desk", BodyState(desk.pose @ Pose((9.0, 0.0, 0.0)), "spot"))
    tree = Placements(placements(cell, away))
    for name, pose in all_link_poses(cell, away).items():
        assert max(pose.distance_to(tree.world(name))) < 1e-6, name
    assert "one_root" not in str(CollisionChecker(cell, away).report(max_pairs=100).pairs)


def reference_link(cell, state, link):
    return Placements(placements(cell, state)).world(link)


def test_batches_and_jacobians_include_the_joints_of_parent_robots(stack):
    cell, state = stack
    group = "one_all+three_all+two_all"
    variables = cell.group(group).variables
    rng = np.random.default_rng(1)
    q = rng.uniform(-1.0, 1.0, len(variables))
    step = 1e-6
    rows = np.array([q + sign * step * unit for unit in np.eye(len(q)) for sign in (1.0, -1.0)])
    positions = forward_batch(cell, state, "one_i", variables, rows)[:, :3, 3]
    slopes = ((positions[::2] - positions[1::2]) / (2.0 * step)).T
    found = jacobians(cell, state, group, "one_i", configurations=q[None]).jacobian[0]
    np.testing.assert_allclose(found[:3], slopes, atol=1e-6)
    # The ancestors of the frame that robot "one" is attached to move it.
    moved = {name for name, column in zip(variables, slopes.T, strict=True) if np.abs(column).max() > 1e-9}
    assert {"three_turn", "two_turn"} <= moved
    assert "three_last" not in moved


def test_dynamics_are_those_of_one_description(stack):
    cell, state = stack
    ours, theirs = Dynamics(cell, state), Dynamics(*in_one_description(cell, state))
    order = same_order(ours.variables, theirs.variables)
    rng = np.random.default_rng(2)
    q, v, a = rng.uniform(-1.0, 1.0, (3, len(ours.variables)))
    full = np.empty((3, len(q)))
    full[:, order] = (q, v, a)
    np.testing.assert_allclose(ours.inverse(q, v, a), theirs.inverse(*full)[order], atol=1e-9)
    np.testing.assert_allclose(ours.gravity(q), theirs.gravity(full[0])[order], atol=1e-9)
    np.testing.assert_allclose(ours.mass_matrix(q), theirs.mass_matrix(full[0])[np.ix_(order, order)], atol=1e-9)


def test_the_mass_matrix_is_that_of_inverse_dynamics(stack):
    """Pinocchio's composite rigid body algorithm omits masses if joints are not in depth-first order."""
    dynamics = Dynamics(*stack)
    n = len(dynamics.variables)
    q = np.random.default_rng(3).uniform(-1.0, 1.0, n)
    columns = dynamics.inverse(np.tile(q, (n, 1)), None, np.eye(n)) - dynamics.gravity(q)
    np.testing.assert_allclose(dynamics.mass_matrix(q), columns, atol=1e-9)
    assert np.linalg.eigvalsh(columns).min() > 0.0


def test_joints_of_parent_robots_are_first_in_the_order_of_joints(stack):
    names = [name.partition("_")[0] for name in cell_model(*stack).variables]
    assert list(dict.fromkeys(names)) == ["three", "two", "one"]


def test_inverse_kinematics_reaches_targets_in_the_world_at_any_rail_position():
    cell, state = on_rail("ur5")
    rng = np.random.default_rng(4)
    for _ in range(5):
        state = state.with_configuration({"rail": float(rng.uniform(-1.0, 1.0))})
        q = dict(zip(cell.group("ur5").variables, rng.uniform(-2.0, 2.0, 6).tolist(), strict=True))
        target = FrameTarget(pose=world_pose(cell, state.with_configuration(q), cell.tip_link("ur5")))
        result = inverse_kinematics(cell, state, target, "ur5")
        for row in result.solutions:
            there = state.with_configuration(dict(zip(result.variables, row.tolist(), strict=True)))
            distance, angle = reference_world_pose(cell, there, cell.tip_link("ur5")).distance_to(target.pose)
            assert distance < 2e-6
            assert angle < 2e-6


def on_rail(name):
    """An arm on the carriage of a rail along y, with the rail listed after the arm."""
    single = arm(name)
    robot = replace(next(iter(single.robots.values())), attached_to="carriage")
    group = next(iter(robot.groups.values()))
    robot = replace(robot, groups=frozendict({name: replace(group, name=name)}), named_states=frozendict())
    slide = Joint("rail", JointKind.PRISMATIC, "track", "carriage", Pose((0.0, 0.0, 0.3)), (0.0, 1.0, 0.0))
    slide = replace(slide, limits=replace(slide.limits, lower=-2.0, upper=2.0))
    links = frozendict({link: Link(link) for link in ("track", "carriage")})
    rail = Robot("rail", Mechanism("rail", links, frozendict({"rail": slide})))
    rail = replace(rail, groups=frozendict({"rail": PlanningGroup("rail", ("rail",), (), "track", "carriage")}))
    cell = RobotCell("on_rail", frozendict({robot.name: robot, "rail": rail}))
    state = cell.default_state()
    poses = state.base_poses.set(robot.name, Pose((0.1, 0.0, 0.05)))
    return cell, replace(state, base_poses=poses)


CUBE = Shape(Box((0.1, 0.1, 0.1)))


@pytest.mark.parametrize(
    ("attached_to", "error", "names"),
    [
        ("one_d", FrameCycleError, ("one_root", "desk", "three_d")),
        ("three_i", FrameCycleError, ("three_i",)),
        ("tool/tcp", NotSupportedError, ("three", "tool")),
        ("on_tool", NotSupportedError, ("three", "tool", "on_tool")),
        ("nowhere", UnknownNameError, ("nowhere",)),
    ],
)
def test_loops_and_robots_on_tools_are_refused_with_their_names(attached_to, error, names):
    cell, state = stacked_cell()
    body = RigidBody("on_tool", (CUBE,))
    robots = cell.robots.set("three", replace(cell.robots["three"], attached_to=attached_to))
    if error is NotSupportedError:  # on another robot; otherwise it would be a loop
        state = state.with_tool("tool", replace(state.tools["tool"], attached_to=""))
    cell = replace(cell, robots=robots, bodies=cell.bodies.set("on_tool", body))
    state = state.with_body("on_tool", BodyState(random_pose(np.random.default_rng(0)), "tool"))
    with pytest.raises(error) as refused:
        cell.check_state(state)
    for name in names:
        assert name in refused.value.message or name in refused.value.subjects
