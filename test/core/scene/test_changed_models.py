"""Models of scenes that follow each other share what did not change, and are equal to those that are built anew."""

import threading

import numpy as np
import pytest
from frozendict import frozendict
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import box, small_cell

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import RobotCellError, UnknownNameError
from robot_cell_planner.kinematics import model
from robot_cell_planner.kinematics.model import CellModel, cell_model
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState, RobotCellState
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.model_changes import Add, AddFrame, Remove, Replace
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.scene.state_changes import Attach, Detach, Move

NEW = ("new", "wall")
names = st.sampled_from(["part", "crate", "table", *NEW])
frames = st.sampled_from(["tip", "crate", "part", "gripper/tcp", "place", "mark", *NEW])
positions = st.tuples(*[st.floats(-1.0, 1.0)] * 3)


def added(name, position, carrier):
    body = RobotCell(bodies=frozendict({name: RigidBody(name, (box(0.2), box(0.1)))}))
    return Add(body, RobotCellState(bodies=frozendict({name: BodyState(Pose(position), carrier)})))


def replaced(name, size):
    return Replace(RobotCell(bodies=frozendict({name: RigidBody(name, (box(size),))})))


bodies = st.one_of(
    st.builds(added, st.sampled_from(NEW), positions, frames | st.just("")),
    st.builds(replaced, names, st.floats(0.05, 0.5)),
    st.builds(Remove, names),
    st.builds(Move, names, positions),
    st.builds(Attach, names, frames),
    st.builds(Detach, names),
)
mark = st.builds(AddFrame, st.just("mark"), frames, st.builds(Pose, positions))
changes = st.one_of(st.tuples(bodies), st.tuples(mark), st.tuples(st.just(Remove("mark")), mark))


def placements(cell, state):
    found = CollisionChecker(cell, state).geometry_model
    return [found.name_of(row) for row in range(len(found.geometries))], found.joint_T_geometry


def in_new_thread(function, *arguments):
    """The result of a function in a thread, whose caches are empty."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function(*arguments)))
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture(scope="module", autouse=True)
def _all_frames_are_shared():
    """Models of small cells look up too few frames to share them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "FEW_FRAMES", 1)
        yield


@settings(max_examples=100, deadline=None)
@given(st.lists(changes, min_size=2, max_size=10))
def test_frames_and_geometries_are_where_a_new_model_places_them(steps):
    scene = Scene(*small_cell())
    for together in steps:
        try:
            scene = apply_changes(scene, together, world_pose)
        except RobotCellError:
            continue
        found, fresh = cell_model(scene.cell, scene.state), CellModel(scene.cell, scene.state)
        assert {*found.frames} == {*fresh.frames}
        for name, at in fresh.frames.items():
            assert found.frame(name).joint == at.joint, name
            assert np.array_equal(found.frame(name).placement.homogeneous, at.placement.homogeneous), name
        for name in {*NEW, "mark"} - {*fresh.frames}:
            with pytest.raises(UnknownNameError):
                found.frame(name)
        geometries, expected = placements(scene.cell, scene.state), in_new_thread(placements, scene.cell, scene.state)
        assert geometries[0] == expected[0]
        assert np.array_equal(geometries[1], expected[1])
