"""NumPy numbers in values are converted to Python numbers, and integers to floats where a float is expected: digests
and plans are equal."""

from fractions import Fraction

import msgspec
import numpy as np
import pytest
from loaded_cells import loaded
from numpy.typing import NDArray

from robot_cell_planner import Goals, MotionRequest, PlanningOptions, plan_motion, verify_plan
from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.model.arguments import public
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.geometry import Box, Cylinder, Mesh, Shape, Triangles
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.planning.problem.plan_file import plan_to_json

CELL, STATE = loaded()


def scene_and_request(number, integer):
    box = Shape(Box((number(0.25), number(0.5), number(0.125))), Pose((number(0.0), number(0.25), number(0.0))))
    can = Shape(Cylinder(number(0.125), length=number(0.25)), Pose(quaternion=tuple(map(number, (0, 0, 1, 0)))))
    cell = msgspec.structs.replace(CELL, bodies=CELL.bodies.set("box", RigidBody("box", (box, can))))
    state = STATE.with_body("box", BodyState(pose=Pose((number(2.0), number(-1.0), number(1.0)))))
    state = state.with_configuration({"elbow_joint": number(1.5)})
    options = PlanningOptions(seed=integer(3), resolution=number(0.015625))
    return cell, state, MotionRequest(Goals(joint_goals=({"elbow_joint": number(1.25)},)), options=options)


@pytest.mark.parametrize("number", [np.float64, np.float32])  # the numbers above are exact in both
def test_plans_are_the_same(number):
    expected = scene_and_request(float, int)
    cell, state, request = scene_and_request(number, np.int64)
    assert (cell.digest(), state.digest()) == (expected[0].digest(), expected[1].digest())
    plans = [plan_motion(*given) for given in (expected, (cell, state, request))]
    first, second = (plan_to_json(plan, repeatable=True) for plan in plans)
    assert first == second


@pytest.mark.parametrize("number", [int, np.int64, Fraction])
def test_whole_numbers_of_other_types_have_the_digests_of_floats(number):
    def made(number):
        shapes = (
            Shape(Box((number(1), number(2), number(3))), Pose((number(1), number(0), number(0)))),
            Shape(Cylinder(number(1), number(2)), rgba=(number(0), number(0), number(1), number(1))),
            Shape(Mesh("file.stl", "file.stl", "0", scale=(number(2), number(2), number(2)))),
            Shape(Triangles([[number(x) for x in row] for row in np.eye(3)], [[np.int64(0), 1, 2]])),
        )
        state = STATE.with_configuration({"elbow_joint": number(1)})
        state = state.with_body("box", BodyState(pose=Pose((number(2), number(0), number(1)))))
        return msgspec.structs.replace(CELL, bodies=CELL.bodies.set("box", RigidBody("box", shapes))), state

    (cell, state), (expected_cell, expected_state) = made(number), made(float)
    assert (cell, state) == (expected_cell, expected_state)
    assert cell.digest() == expected_cell.digest()
    assert state.digest() == expected_state.digest()


def test_a_plan_holds_for_an_equal_state_whose_numbers_are_integers():
    plan = plan_motion(CELL, STATE.with_configuration({"elbow_joint": 1}), goal_of("elbow_joint", 2))
    assert not verify_plan(CELL, STATE.with_configuration({"elbow_joint": 1.0}), plan).violations


def goal_of(joint, value):
    return MotionRequest(Goals(joint_goals=({joint: value},)), options=PlanningOptions(seed=1))


def test_fields_are_numbers_of_python():
    assert [type(value) for value in Pose((np.float32(1.0), 2.0, 3.0)).position] == [float] * 3
    assert [type(value) for value in Pose(quaternion=tuple(np.array([0.0, 0.0, 0.0, 1.0]))).quaternion] == [float] * 4
    assert [type(value) for value in Box(tuple(np.ones(3))).size] == [float] * 3
    assert type(Mesh("file.stl", "file.stl", "0", scale=tuple(np.ones(3))).scale[0]) is float
    assert type(PlanningOptions(seed=np.uint8(3)).seed) is int
    assert type(PlanningOptions(certify=np.bool_(False)).certify) is bool
    values = STATE.with_configuration({"elbow_joint": np.float64(1.0)}).configuration
    assert {type(value) for value in values.values()} == {float}


@public
def rows_of(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows


@pytest.mark.parametrize("rows", [[["1.0"], [2.0]], [[1.0], [None]], [[1.0], [10**400]], "1.0", None, [[1], [1, 2]]])
def test_items_of_arrays_that_are_no_numbers_are_refused(rows):
    with pytest.raises(InvalidRequestError, match=r"rows is .* expected an array of numbers"):
        rows_of(rows)


@pytest.mark.parametrize("one", [1, True, np.float32(1.0), Fraction(1)])
def test_arrays_of_numbers_of_other_types_are_those_of_floats(one):
    found = rows_of([[0.0], [one]])
    assert found.dtype == np.float64
    assert np.array_equal(found, [[0.0], [1.0]])


def test_an_array_is_not_copied():
    rows = np.zeros((2, 3))
    assert rows_of(rows) is rows
