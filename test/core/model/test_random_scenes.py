"""Properties of scene changes for random mechanisms, bodies and frames, compared with Pinocchio's placements."""

import math

import numpy as np
import pinocchio as pin
import pytest
from frozendict import frozendict
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from reference import box
from strategies import mechanisms, quaternions

from robot_cell_planner.errors import FrameCycleError, InvalidRequestError
from robot_cell_planner.io.common.serialisation import from_json, to_json
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.kinematics.transforms import WorldTransforms, world_pose
from robot_cell_planner.model.bodies import NamedFrame, RigidBody, Tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.frames import FrameKind, FrameTree
from robot_cell_planner.model.mechanism import Mechanism
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState, RobotCellState, ToolState
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.diff import apply_difference, difference
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.scene.state_changes import Attach, Detach, Move, SetJoints

laws = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
near = st.floats(-5.0, 5.0)
poses = st.builds(Pose, st.tuples(near, near, near), quaternions())


@st.composite
def scenes(draw):
    """A random robot, a tool on the tip of a group, and bodies and frames attached to any frame before them."""
    mechanism = draw(mechanisms())
    assume(all(np.linalg.norm(joint.origin.position) < 1e3 for joint in mechanism.joints.values()))
    links = list(mechanism.links)
    tip = draw(st.sampled_from(links))
    chain = mechanism.chain(mechanism.root, tip)
    variables = tuple(name for joint in chain for name in joint.variables)
    groups = frozendict(group=PlanningGroup("group", variables, (), mechanism.root, tip))
    hand = draw(mechanisms())
    tool = Tool("tool", Mechanism("tool", hand.links, hand.joints), draw(poses))
    carriers = ["", *links, "tool", "tool/tcp", *(f"tool/{link}" for link in hand.links)]
    bodies, frames = {}, {}
    for number in range(draw(st.integers(1, 5))):
        name = f"body {number}"
        bodies[name] = BodyState(draw(poses), draw(st.sampled_from(carriers)))
        carriers.append(name)
    for number in range(draw(st.integers(0, 3))):
        name = f"frame {number}"
        frames[name] = NamedFrame(name, draw(st.sampled_from(carriers)) or "world", draw(poses))
        carriers.append(name)
    cell = RobotCell(
        robots=frozendict(robot=Robot("robot", mechanism, groups)),
        tools=frozendict(tool=tool),
        bodies=frozendict({name: RigidBody(name, (box(),)) for name in bodies}),
        frames=frozendict(frames),
    )
    state = cell.default_state()
    values = {name: draw(st.floats(-2.0, 2.0)) for name in cell.variables}
    jaws = frozendict({variable.name: draw(st.floats(-2.0, 2.0)) for variable in hand.variables})
    on = draw(st.sampled_from(["", "group"]))
    held = ToolState(draw(poses), on, jaws)
    state = RobotCellState(frozendict(robot=draw(poses)), frozendict(values), frozendict(tool=held), frozendict(bodies))
    cell.check_state(state)
    return Scene(cell, state)


def objects(scene):
    return [*scene.state.bodies, *scene.cell.frames]


def world(scene, frame):
    return WorldTransforms(scene.cell, scene.state).matrix(frame)


def assert_same(actual, expected, scale=1.0):
    scale = max(scale, float(np.abs(expected).max()))
    np.testing.assert_allclose(actual / scale, expected / scale, atol=1e-8)


def extent(scene):
    transforms = WorldTransforms(scene.cell, scene.state)
    return max(float(np.abs(transforms.matrix(frame)).max()) for frame in FrameTree(scene.cell, scene.state))


def other_frames(scene, name):
    """Frames that an object may be attached to: all but itself and its descendants."""
    tree = FrameTree(scene.cell, scene.state)
    below = {name, *tree.descendants(name)}
    return [frame for frame in tree if frame not in below]


@laws
@given(scenes())
def test_transforms_are_those_of_pinocchio(scene):
    """A Pinocchio model that contains every frame gives the same placements."""
    model = cell_model(scene.cell, scene.state)
    own = pin.Model(model.mechanisms.pin_model)
    for name in FrameTree(scene.cell, scene.state):
        at = model.frame(name)
        own.addFrame(pin.Frame(name, at.joint, at.placement, pin.FrameType.OP_FRAME))
    data = own.createData()
    pin.framesForwardKinematics(own, data, model.expand(model.configuration(scene.state)))
    transforms, tree = WorldTransforms(scene.cell, scene.state), FrameTree(scene.cell, scene.state)
    for name in tree:
        theirs = data.oMf[own.getFrameId(name, pin.FrameType.OP_FRAME)].homogeneous
        assert_same(transforms.matrix(name), theirs)
        if tree.kind(name) in (FrameKind.BODY, FrameKind.FRAME):
            placed = scene.state.bodies.get(name) or scene.cell.frames[name]
            carrier = transforms.matrix(tree.parent(name))
            assert_same(transforms.matrix(name), carrier @ placed.pose.matrix, extent(scene))


@laws
@given(scenes())
def test_moving_frames_are_those_that_a_joint_moves(scene):
    model, tree = cell_model(scene.cell, scene.state), FrameTree(scene.cell, scene.state)
    for name in tree:
        assert tree.is_moving(name) == (model.frame(name).joint != 0)


@laws
@given(scenes(), st.data())
def test_grip_detach_and_reparenting_keep_every_pose_in_the_world(scene, data):
    name = data.draw(st.sampled_from(objects(scene)))
    carrier = data.draw(st.sampled_from(other_frames(scene, name)))
    before = {frame: world(scene, frame) for frame in FrameTree(scene.cell, scene.state)}
    gripped = apply_changes(scene, [Attach(name, carrier)], world_pose)
    assert FrameTree(gripped.cell, gripped.state).parent(name) == carrier
    size = extent(scene)
    for frame, matrix in before.items():
        assert_same(world(gripped, frame), matrix, size)
    if carrier != "world":
        free = apply_changes(gripped, [Detach(name)], world_pose)
        assert FrameTree(free.cell, free.state).parent(name) == "world"
        for frame, matrix in before.items():
            assert_same(world(free, frame), matrix, size)


@laws
@given(scenes(), st.data())
def test_attach_and_move_set_the_pose_of_an_object_and_move_its_descendants(scene, data):
    name = data.draw(st.sampled_from(objects(scene)))
    others = other_frames(scene, name)
    carrier, reference = data.draw(st.sampled_from(others)), data.draw(st.sampled_from(others))
    pose = data.draw(poses)
    below = FrameTree(scene.cell, scene.state).descendants(name)
    relative = {frame: np.linalg.inv(world(scene, name)) @ world(scene, frame) for frame in below}
    size = extent(scene)
    for change in (
        Attach(name, carrier, pose, reference),
        Move(name, pose.position, pose.quaternion, reference),
    ):
        after = apply_changes(scene, [change], world_pose)
        assert_same(world(after, name), world(after, reference) @ pose.matrix, size)
        for frame, matrix in relative.items():
            assert_same(world(after, frame), world(after, name) @ matrix, size)
        untouched = [frame for frame in others if frame != name]
        for frame in untouched:
            assert_same(world(after, frame), world(scene, frame))
        parents = FrameTree(after.cell, after.state)
        expected = carrier if isinstance(change, Attach) else FrameTree(scene.cell, scene.state).parent(name)
        assert parents.parent(name) == expected


@laws
@given(scenes(), st.data())
def test_gripped_objects_follow_the_joints_rigidly(scene, data):
    name = data.draw(st.sampled_from(objects(scene)))
    carrier = data.draw(st.sampled_from(other_frames(scene, name)))
    gripped = apply_changes(scene, [Attach(name, carrier)], world_pose)
    before = np.linalg.inv(world(gripped, carrier)) @ world(gripped, name)
    values = {joint: data.draw(st.floats(-2.0, 2.0)) for joint in scene.cell.variables}
    moved = apply_changes(gripped, [SetJoints({**values})], world_pose) if values else gripped
    after = np.linalg.inv(world(moved, carrier)) @ world(moved, name)
    assert_same(after, before, max(extent(gripped), extent(moved)))


@laws
@given(scenes(), st.data())
def test_loops_are_refused_and_change_nothing(scene, data):
    name = data.draw(st.sampled_from(objects(scene)))
    below = [name, *FrameTree(scene.cell, scene.state).descendants(name)]
    target = data.draw(st.sampled_from(below))
    before = to_json(scene)
    for change, kind in (
        (Attach(name, target), FrameCycleError),
        (Move(name, relative_to=target), InvalidRequestError),
    ):
        with pytest.raises(kind, match=name):
            apply_changes(scene, [change], world_pose)
    assert to_json(scene) == before


@laws
@given(scenes(), scenes())
def test_a_difference_leads_from_any_scene_to_any_other(first, second):
    step = difference(first, second)
    assert apply_difference(first, step) == second
    assert apply_difference(first, from_json(to_json(step), type(step))).state.digest() == second.state.digest()
    assert difference(first, first) == difference(second, second)
    assert not difference(first, first).changes_models


@laws
@given(scenes())
def test_scenes_are_restored_from_json_to_the_last_bit(scene):
    again = from_json(to_json(scene), Scene)
    assert again == scene
    assert to_json(again) == to_json(scene)
    assert (again.cell.digest(), again.state.digest()) == (scene.cell.digest(), scene.state.digest())


@laws
@given(scenes(), st.data())
def test_nan_leaves_components_and_joints_as_they_are(scene, data):
    name = data.draw(st.sampled_from(objects(scene)))
    old = world_pose(scene.cell, scene.state, name)
    axis, value = data.draw(st.integers(0, 2)), data.draw(near)
    position = tuple(value if i == axis else math.nan for i in range(3))
    moved = apply_changes(scene, [Move(name, position)], world_pose)
    expected = tuple(value if i == axis else old.position[i] for i in range(3))
    size = extent(scene)
    new = world_pose(moved.cell, moved.state, name)
    np.testing.assert_allclose(np.array(new.position) / size, np.array(expected) / size, atol=1e-8)
    assert new.distance_to(Pose(new.position, old.quaternion))[1] < 1e-6
    kept = apply_changes(scene, [SetJoints(dict.fromkeys(scene.cell.variables, math.nan))], world_pose)
    assert kept.state == scene.state
