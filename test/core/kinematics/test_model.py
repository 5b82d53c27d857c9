"""The model of a cell is compared with Pinocchio's URDF parser, and with poses multiplied along the tree."""

import threading

import msgspec
import numpy as np
import pinocchio as pin
import pytest
from frozendict import frozendict
from kinematic_cells import arm, demo, odd_cell, random_pose

from benchmarks.arms import FILES, urdf_of
from robot_cell_planner.errors import FrameCycleError, InvalidRequestError, UnknownNameError
from robot_cell_planner.kinematics.model import CellModel, cell_model
from robot_cell_planner.kinematics.transforms import WorldTransforms, world_pose
from robot_cell_planner.model.placement import Placements, placements
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState


def pinocchio_configuration(model, mechanism, values):
    """In Pinocchio, a continuous joint has cosine and sine, and a mimic joint from URDF is an independent joint."""
    q = pin.neutral(model)
    for name in mechanism.joints:
        source, multiplier, offset = mechanism.mimic_source(name)
        if source not in values:
            continue
        value = multiplier * values[source] + offset
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
    return q


@pytest.mark.parametrize("name", FILES)
def test_links_have_the_poses_of_pinocchio(name):
    cell = arm(name)
    state = cell.default_state()
    reference = pin.buildModelFromUrdf(str(urdf_of(name)))
    data = reference.createData()
    rng = np.random.default_rng(1)
    for _ in range(20):
        values = {variable: float(rng.uniform(-3.0, 3.0)) for variable in state.configuration}
        pin.framesForwardKinematics(reference, data, pinocchio_configuration(reference, cell.robot.mechanism, values))
        transforms = WorldTransforms(cell, state.with_configuration(values))
        for link in cell.robot.mechanism.links:
            theirs = link if reference.existFrame(link) else "world"
            expected = data.oMf[reference.getFrameId(theirs, pin.FrameType.BODY)].homogeneous
            np.testing.assert_allclose(transforms.matrix(link), expected, atol=1e-12)


@pytest.mark.parametrize("name", FILES)
def test_masses_are_those_that_pinocchio_reads(name):
    cell = arm(name)
    model = cell_model(cell, cell.default_state())
    reference = pin.buildModelFromUrdf(str(urdf_of(name)))
    assert pin.computeTotalMass(model.model) == pytest.approx(pin.computeTotalMass(reference), rel=1e-12)
    rng = np.random.default_rng(2)
    for _ in range(5):
        values = {variable: float(rng.uniform(-3.0, 3.0)) for variable in model.variables}
        configuration = pinocchio_configuration(reference, cell.robot.mechanism, values)
        theirs = pin.crba(reference, reference.createData(), configuration)
        q = model.expand(np.array([values[variable] for variable in model.variables]))
        ours = pin.crba(model.model, model.data(), q)
        order = [reference.joints[reference.getJointId(joint)].idx_v for joint in list(model.model.names)[1:]]
        theirs = np.triu(theirs) + np.triu(theirs, 1).T
        np.testing.assert_allclose(np.triu(ours), np.triu(theirs[np.ix_(order, order)]), atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_every_frame_of_a_random_cell_has_the_pose_of_the_tree(seed):
    cell, state = odd_cell(seed)
    expected = Placements(placements(cell, state))
    transforms = WorldTransforms(cell, state)
    for frame in transforms.model.frame_names:
        np.testing.assert_allclose(transforms.matrix(frame), expected.world(frame).matrix, atol=1e-12)
    np.testing.assert_allclose(
        transforms.between("one_d", "on_held").matrix, expected.between("one_d", "on_held").matrix, atol=1e-12
    )


def test_variables_are_the_robots_then_the_tools():
    cell, state = demo()
    model = cell_model(cell, state)
    assert model.variables == (*cell.group().variables, "gripper/finger_joint")
    assert model.variable("gripper/finger_joint").limits.upper > 0.0
    q = model.configuration(state)
    assert q[-1] == state.tools["gripper"].configuration["finger_joint"]
    moved = model.with_configuration(state, q + 0.01)
    np.testing.assert_array_equal(model.configuration(moved), q + 0.01)
    assert model.with_configuration(state, q) == state


def test_mimicking_joints_follow():
    cell, state = odd_cell()
    model = cell_model(cell, state)
    full = model.expand(model.configuration(state))
    names = [model.model.names[index] for index in range(1, model.model.njoints)]
    values = dict(zip(names, full, strict=True))
    turn = state.configuration["two_turn"]
    assert values["two_follow"] == pytest.approx(-0.5 * turn + 0.2)
    assert values["two_follow_on"] == pytest.approx(0.3 * (-0.5 * turn + 0.2) - 0.1)
    rows = np.tile(model.configuration(state), (3, 1))
    np.testing.assert_array_equal(model.expand(rows), np.tile(full, (3, 1)))


def test_models_are_shared_between_configurations_and_mechanisms_between_body_poses():
    cell, state = demo()
    assert cell_model(cell, state) is cell_model(cell, state.with_configuration({"elbow_joint": 0.1}))
    moved = state.with_body("workpiece", msgspec.structs.replace(state.bodies["workpiece"], pose=Pose((1.0, 0.0, 0.0))))
    fingers = state.with_tool("gripper", state.tools["gripper"].with_configuration({"finger_joint": 0.01}))
    assert cell_model(cell, fingers) is cell_model(cell, state)
    assert world_pose(cell, fingers, "gripper/tcp") == world_pose(cell, state, "gripper/tcp")
    assert cell_model(cell, moved) is not cell_model(cell, state)
    assert cell_model(cell, moved).mechanisms is cell_model(cell, state).mechanisms
    assert world_pose(cell, moved, "workpiece") == Pose((1.0, 0.0, 0.0))


def test_a_model_that_is_used_remains_shared_while_models_of_other_cells_are_built():
    cell, state = demo()
    model = cell_model(cell, state)
    for index in range(40):
        elsewhere = frozendict({"arm": Pose((0.01 * index, 0.0, 0.0))})
        cell_model(msgspec.structs.replace(cell), msgspec.structs.replace(state, base_poses=elsewhere))
        assert cell_model(cell, state) is model
    fingers = state.with_tool("gripper", state.tools["gripper"].with_configuration({"finger_joint": 0.02}))
    assert cell_model(cell, fingers) is model
    moved = state.with_body("workpiece", msgspec.structs.replace(state.bodies["workpiece"], pose=Pose((2.0, 0.0, 0.0))))
    assert cell_model(cell, moved).mechanisms is model.mechanisms


def test_a_held_body_adds_its_mass_to_the_joint_that_carries_it():
    cell, state = demo()
    mass = cell.bodies["workpiece"].inertial.mass
    plain = cell_model(cell, state)
    held = state.with_body("workpiece", BodyState(Pose((0.0, 0.0, 0.1)), "gripper/tcp"))
    loaded = cell_model(cell, held)
    joint = loaded.frame("gripper/tcp").joint
    assert loaded.frame("workpiece").joint == joint
    assert loaded.model.inertias[joint].mass == pytest.approx(plain.model.inertias[joint].mass + mass)
    assert loaded.model.nv == plain.model.nv


def test_each_thread_has_its_own_data():
    cell, state = demo()
    model = cell_model(cell, state)
    seen = [model.data(), model.data()]
    thread = threading.Thread(target=lambda: seen.append(model.data()))
    thread.start()
    thread.join()
    assert seen[0] is seen[1]
    assert seen[2] is not seen[0]


def test_unknown_names_and_loops_are_refused():
    cell, state = demo()
    model = cell_model(cell, state)
    with pytest.raises(UnknownNameError, match="nearest: gripper/tcp"):
        model.frame("gripper/tpc")
    with pytest.raises(UnknownNameError, match="nearest: elbow_joint"):
        model.indices(("elbow_jiont",))
    with pytest.raises(UnknownNameError):
        model.index("arm_of_nobody")
    bodies = state.with_body("bin", BodyState(attached_to="post")).with_body("post", BodyState(attached_to="bin"))
    with pytest.raises(FrameCycleError):
        CellModel(cell, bodies).frame("bin")
    lacking = msgspec.structs.replace(state, configuration=frozendict())
    with pytest.raises(InvalidRequestError, match="shoulder_pan_joint"):
        model.configuration(lacking)


def test_base_poses_and_tool_poses_move_attached_objects():
    cell, state = demo()
    rng = np.random.default_rng(0)
    base, tool = random_pose(rng), random_pose(rng, 0.1)
    moved = msgspec.structs.replace(state, base_poses=frozendict({"arm": base}))
    moved = moved.with_tool("gripper", msgspec.structs.replace(state.tools["gripper"], pose=tool))
    before, after = WorldTransforms(cell, state), WorldTransforms(cell, moved)
    np.testing.assert_allclose(after.matrix("tool0", "base_link"), before.matrix("tool0", "base_link"), atol=1e-12)
    np.testing.assert_allclose(after.matrix("base_link"), base.matrix, atol=1e-12)
    np.testing.assert_allclose(after.matrix("gripper", "tool0"), tool.matrix, atol=1e-12)
