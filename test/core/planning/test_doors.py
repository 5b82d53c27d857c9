"""Public functions: for any value of an argument, the outcome is a result or an error of this package."""

import itertools
import math
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from frozendict import frozendict
from hypothesis import given, settings
from hypothesis import strategies as st
from planning_cells import gantry

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.pairs.allowed_pairs import CollisionOptions
from robot_cell_planner.errors import InvalidRequestError, InvalidValueError, RobotCellError
from robot_cell_planner.io.cell_file.cell_file import load_cell, load_state, save_cell, save_state
from robot_cell_planner.io.common.resources import NO_ROOTS, ResourceRoots
from robot_cell_planner.io.import_files import import_file
from robot_cell_planner.io.mesh.loading import mesh_reference
from robot_cell_planner.io.robot_description.loading import load_robot, load_tool
from robot_cell_planner.io.robot_description.xacro_files import expand_xacro
from robot_cell_planner.kinematics.differential import jacobians
from robot_cell_planner.kinematics.dynamics import Dynamics
from robot_cell_planner.kinematics.forward import (
    all_link_poses,
    forward_batch,
    forward_kinematics,
    forward_kinematics_to_frame,
)
from robot_cell_planner.kinematics.ik.options import IkOptions
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, PointAxisTarget, TargetMode
from robot_cell_planner.model.bodies import CollisionSettings, NamedFrame, PairMargin, RigidBody, rigid_tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Capsule, Cone, Cylinder, Mesh, MeshUse, Shape, Sphere, Triangles
from robot_cell_planner.model.mechanism import Inertial, Joint, JointKind, JointLimits, Link, Mechanism, Mimic
from robot_cell_planner.model.pose import IDENTITY, Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState, RobotCellState, ToolState
from robot_cell_planner.offline import OfflineCell
from robot_cell_planner.planning.cartesian.path.options import CartesianOptions
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import GoalRegion, Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.problem.steps import MotionStep, MultistepRequest
from robot_cell_planner.planning.sequence import plan_multistep
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.parameterization import time_path
from robot_cell_planner.trajectory.timing import TimingOptions, follow_samples, stop_at_waypoints
from robot_cell_planner.trajectory.trajectory import Trajectory
from robot_cell_planner.trajectory.validation import validate

CELL, STATE = gantry()
LIMITS = MotionLimits.of(tuple(CELL.variables.values()))
PATH = np.array([[0.0, 0.0], [0.1, 0.1]])
GOALS = Goals(joint_goals=({"x": 0.1, "y": 0.1},))
TRAJECTORY = Trajectory(("x", "y"), np.array([0.0, 1.0]), PATH)
LINE = FrameWaypoints((Pose((0.1, 0.0, 0.0)),))
BOX = Shape(Box((0.1, 0.1, 0.1)))
DUMMY = Path(__file__).with_name("nothing.yaml")

WRONG = {
    "None": None,
    "True": True,
    "minus one": -1,
    "a fraction": 1.5,
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "a huge integer": 10**400,
    "64 bits": 2**63,
    "tiny": 5e-324,
    "text": "abc",
    "no text": "",
    "a zero byte": "a\0b",
    "a lone surrogate": "\ud800",
    "long text": "x" * 100_000,
    "bytes": b"abc",
    "a list": [],
    "a list of texts": ["a", "b"],
    "a list of None": [None],
    "numbers": [1.0, 2.0, 3.0],
    "NaNs": (math.nan, math.nan, math.nan),
    "nested": [[[1.0]]],
    "uneven": [[1.0], [1.0, 2.0]],
    "a mapping": {},
    "text to text": {"a": "b"},
    "number to number": {1: 2.0},
    "text to NaN": {"x": math.nan},
    "mapping to mapping": {"x": {"y": 1}},
    "a set": {1, 2},
    "a range": range(3),
    "a generator": (item for item in ()),
    "an object": object(),
    "a type": int,
    "a function": len,
    "an array": np.zeros(3),
    "a matrix of NaN": np.full((2, 2), math.nan),
    "a cube": np.zeros((2, 2, 2)),
    "an array of texts": np.array(["a"]),
    "an array of objects": np.array([None, object()]),
    "an empty array": np.zeros((0, 2)),
    "complex": 1j,
    "a numpy integer": np.int64(3),
    "a pose": IDENTITY,
    "a shape": BOX,
    "a cell": CELL,
    "a state": STATE,
    "a path": Path("/nonexistent/a.yaml"),
    "a date": np.datetime64("2026-01-01"),
}

LIFT = Joint("j", JointKind.PRISMATIC, "a", "b", limits=JointLimits(0.0, 1.0, 1.0))
TWO = Mechanism("m", frozendict({"a": Link("a"), "b": Link("b")}), frozendict({"j": LIFT}))
# Valid arguments of each function; the tests replace one argument at a time.
DOORS = {
    Pose: {"position": (0.0, 0.0, 0.0), "quaternion": (0.0, 0.0, 0.0, 1.0)},
    Pose.from_rpy: {"position": (0.0, 0.0, 0.0), "rpy": (0.0, 0.0, 0.0)},
    Pose.from_matrix: {"matrix": np.eye(4)},
    Box: {"size": (1.0, 1.0, 1.0)},
    Sphere: {"radius": 1.0},
    Cylinder: {"radius": 1.0, "length": 1.0},
    Capsule: {"radius": 1.0, "length": 1.0},
    Cone: {"radius": 1.0, "length": 1.0},
    Triangles: {"vertices": ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), "faces": ((0, 1, 2),)},
    Mesh: {"uri": "a.stl", "path": "/a.stl", "digest": "0", "scale": (1.0, 1.0, 1.0), "use": MeshUse.HULL},
    Shape: {"geometry": Sphere(1.0), "pose": IDENTITY, "name": "", "rgba": None, "material": "", "texture": ""},
    Inertial: {"mass": 1.0, "pose": IDENTITY, "inertia": (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)},
    Mimic: {"joint": "a", "multiplier": 1.0, "offset": 0.0},
    JointLimits: dict.fromkeys(("lower", "upper", "velocity", "acceleration", "jerk", "effort"), 1.0),
    Link: {"name": "a", "visuals": (), "collisions": (), "inertial": None, "blocks": ()},
    Joint: {"name": "j", "kind": JointKind.FIXED, "parent": "a", "child": "b", "origin": IDENTITY, "axis": (1.0, 0, 0)},
    Mechanism: {"name": "m", "links": TWO.links, "joints": TWO.joints},
    PlanningGroup: {"name": "g", "variables": ("x",), "links": (), "base_link": "", "tip_link": ""},
    Robot: {"name": "r", "mechanism": TWO, "groups": frozendict(), "named_states": frozendict(), "prefix": ""},
    RigidBody: {"name": "b", "collisions": (BOX,), "visuals": (), "inertial": None},
    NamedFrame: {"name": "f", "attached_to": "world", "pose": IDENTITY},
    PairMargin: {"first": "a", "second": "b", "margin": 0.0},
    CollisionSettings: {"ignore_groups": frozendict(), "margins": frozendict(), "pair_margins": ()},
    rigid_tool: {"name": "t", "collisions": (BOX,), "visuals": (), "inertial": None, "tcp": IDENTITY},
    ToolState: {"pose": IDENTITY, "attached_to": "", "configuration": frozendict(), "touch_links": (), "hidden": False},
    BodyState: {"pose": IDENTITY, "attached_to": "", "touch_links": (), "touch_bodies": (), "hidden": False},
    RobotCellState: {"base_poses": frozendict(), "configuration": frozendict(), "tools": frozendict(), "bodies": {}},
    RobotCell: {"name": "c", "robots": frozendict(), "tools": frozendict(), "bodies": frozendict(), "frames": {}},
    ResourceRoots: {"packages": frozendict(), "folders": (), "text_bytes": 10, "mesh_bytes": 10},
    IkOptions: {"max_solutions": 0, "seed": 0, "max_restarts": 1, "sweep": 24, "all_turns": False, "timeout": None,
                "order": IkOptions().order, "solver": IkOptions().solver},
    FrameTarget: {"pose": IDENTITY, "mode": TargetMode.ROBOT, "frame": "", "reference_frame": "world"},
    PointAxisTarget: {"point": (0.0, 0.0, 0.0), "axis": (0.0, 0.0, 1.0)},
    CollisionOptions: {"extra_margin": 0.0},
    PlanningOptions: {
        "planner": "auto", "planner_parameters": {}, "seed": 0, "state_limit": 100, "time_limit": 1.0,
        "max_start_correction": 0.0,
        "objective": PlanningOptions().objective, "improvement_states": 0, "simplify": True, "tighten": True,
        "extra_margin": 0.0, "search_step": 0.05, "resolution": 0.001, "engine": "coal", "certify": True,
    },
    GoalRegion: {"center": FrameTarget(pose=IDENTITY), "position_extent": (0.0,) * 3, "rotation_extent": (0.0,) * 3},
    Goals: {"joint_goals": ({"x": 0.1},), "named_states": (), "targets": (), "regions": ()},
    MotionRequest: {"goals": GOALS, "group": "", "joints": (), "options": PlanningOptions(), "timing": None,
                    "constraints": (), "waypoint_suggestions": ()},
    CartesianOptions: {"max_step_distance": 0.01, "seed": 0, "engine": "coal", "strategy": CartesianOptions().strategy,
                       "skip_preplanning_collision_check": None, "verbose": False, "time_limit": 0.0},
    FrameWaypoints: {"poses": (IDENTITY,), "mode": TargetMode.ROBOT, "reference_frame": "world"},
    CartesianRequest: {"waypoints": LINE, "group": "", "options": CartesianOptions(), "timing": None},
    MultistepRequest: {"steps": (MotionStep(GOALS),)},
    SimulationOptions: {"time_step": 0.002, "gravity": (0.0, 0.0, -9.81), "grasp_assist": True, "friction": 0.8},
    TimingOptions: {
        "period": 0.01, "velocity_scale": 1.0, "path_speed": 0.0, "tool_speed": 0.0, "limit_effort": False,
        "blend_tolerance": 0.1, "start_velocity": {}, "end_velocity": {}, "limits": {},
        "method": TimingOptions().method,
    },
    Trajectory: {"variables": ("x", "y"), "times": [0.0, 1.0], "positions": PATH, "velocities": None},
    load_cell: {"file": DUMMY, "roots": NO_ROOTS, "confined": False},
    load_state: {"file": DUMMY, "roots": NO_ROOTS, "confined": False},
    save_cell: {"file": "", "cell": CELL, "state": STATE, "roots": NO_ROOTS, "overwrite": True, "confined": False},
    save_state: {"file": "", "state": STATE, "roots": NO_ROOTS, "overwrite": True, "confined": False},
    load_robot: {"name": "r", "urdf": DUMMY, "srdf": "", "limits": "", "xacro_arguments": {}, "prefix": "",
                 "mesh_use": MeshUse.HULL},
    load_tool: {"name": "r", "urdf": DUMMY, "tcp": IDENTITY, "tcp_link": "", "limits": ""},
    import_file: {"file": DUMMY, "prefix": "", "confined": False},
    expand_xacro: {"path": DUMMY, "arguments": {}, "roots": NO_ROOTS},
    mesh_reference: {"uri": "a.stl", "folder": "/nonexistent", "scale": (1.0, 1.0, 1.0), "use": MeshUse.HULL},
    forward_kinematics: {"cell": CELL, "state": STATE, "group": "xy"},
    forward_kinematics_to_frame: {"cell": CELL, "state": STATE, "frame": "cube"},
    all_link_poses: {"cell": CELL, "state": STATE, "relative_to": "world"},
    forward_batch: {"cell": CELL, "state": STATE, "frame": "cube", "variables": ("x", "y"), "configurations": PATH},
    inverse_kinematics: {"cell": CELL, "state": STATE, "target": FrameTarget(pose=IDENTITY), "group": "xy",
                         "options": IkOptions()},
    jacobians: {"cell": CELL, "state": STATE, "group": "xy"},
    CollisionChecker: {"cell": CELL, "state": STATE, "variables": ("x",), "engine": "coal"},
    Dynamics: {"cell": CELL, "state": STATE},
    plan_motion: {"cell": CELL, "state": STATE, "request": MotionRequest(GOALS)},
    plan_cartesian: {"cell": CELL, "state": STATE, "request": CartesianRequest(LINE)},
    plan_multistep: {"cell": CELL, "state": STATE, "request": MultistepRequest((MotionStep(GOALS),))},
    time_path: {"path": PATH, "limits": LIMITS, "options": TimingOptions(), "parameters": None, "stops": ()},
    stop_at_waypoints: {"path": PATH, "limits": LIMITS, "options": TimingOptions()},
    follow_samples: {"samples": np.array([[0.1 * i, 0.0] for i in range(5)]), "limits": LIMITS,
                     "options": TimingOptions()},
    validate: {"trajectory": TRAJECTORY, "limits": LIMITS, "start": None, "start_tolerance": 0.1, "at_rest": True,
               "find_all": False},
    SimulatedCell: {"cell": CELL, "state": STATE, "options": SimulationOptions()},
    OfflineCell: {"cell": CELL, "state": STATE, "options": PlanningOptions()},
    OfflineCell.load: {"cell_file": DUMMY, "seed": 0},
}  # fmt: skip


def answer(function, arguments):
    """The result, or the error of this package; any other error is raised, and fails the test."""
    try:
        result = function(**arguments)
    except RobotCellError as error:
        return error
    if hasattr(result, "close"):
        result.close()
    return result


@pytest.mark.parametrize("function", DOORS, ids=lambda function: function.__qualname__)
def test_wrong_arguments_are_errors_of_this_package(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    right = DOORS[function]
    failures = []
    for name, (kind, value) in itertools.product(right, WRONG.items()):
        try:
            answer(function, {**right, name: value})
        except Exception as error:
            failures.append(f"{name} = {kind}: {type(error).__name__}: {str(error)[:100]}")
    assert failures == []


def test_valid_arguments_are_accepted():
    files = (load_cell, load_state, load_robot, load_tool, import_file, expand_xacro, mesh_reference, OfflineCell.load)
    for function, right in DOORS.items():
        if function not in files:
            error = answer(function, right)
            assert not isinstance(error, InvalidValueError), f"{function.__qualname__}: {error}"


WRONG_TYPES = {
    "a seed of text": (lambda: PlanningOptions(seed="abc"), "seed is 'abc', expected an integer"),
    "a seed of 1.5": (lambda: PlanningOptions(seed=1.5), "seed is 1.5, expected an integer"),
    "a seed that is true": (lambda: IkOptions(seed=True), "seed is True, expected an integer"),
    "a zero quaternion": (lambda: Pose(quaternion=(0.0, 0.0, 0.0, 0.0)), "length 0, expected 1"),
    "goals as a list": (lambda: MotionRequest([GOALS]), "goals is a list of 1, expected a Goals"),
    "numbers in text": (lambda: Pose(("1", 0.0, 0.0)), "position[0] is 1, expected a finite number"),
    "a plan without a request": (
        lambda: plan_motion(CELL, STATE, GOALS),
        "request is a Goals, expected a MotionRequest",
    ),
    "state and cell in the wrong order": (lambda: forward_kinematics(STATE, CELL), "cell is a RobotCellState"),
    "an unknown choice": (
        lambda: PlanningOptions(objective="fast"),
        "objective is 'fast', expected one of Objective: JOINT_LENGTH",
    ),
    "a value deep inside": (lambda: Goals(joint_goals=({"x": "a"},)), "joint_goals[0]['x'] is 'a', expected a number"),
    "no time limit": (lambda: PlanningOptions(time_limit=None), "time_limit is None, expected a number; 0 for no time"),
    "no jump limit": (
        lambda: CartesianOptions(max_jump_revolute=None),
        "max_jump_revolute is None, expected a number; 0 for no limit",
    ),
    "a path of text": (lambda: stop_at_waypoints([["a"]], LIMITS), "path is "),
}


@pytest.mark.parametrize("what", WRONG_TYPES)
def test_the_argument_is_named(what):
    call, text = WRONG_TYPES[what]
    with pytest.raises(InvalidRequestError, match=re.escape(text)):
        call()
    with pytest.raises(ValueError, match=re.escape(text)):  # as in Python
        call()


def test_lossless_conversions_are_accepted():
    assert Pose([0, 1, 2]) == Pose((0.0, 1.0, 2.0))
    assert hash(Pose(np.zeros(3))) == hash(Pose())
    assert Goals(named_states=["a"]).named_states == ("a",)
    assert PlanningOptions(seed=np.int64(3)).seed == 3
    assert stop_at_waypoints([[0.0, 0.0], [0.1, 0.1]], LIMITS).trajectory.variables == ("x", "y")
    assert RobotCellState(configuration={"x": 1.0}) == RobotCellState(configuration=frozendict({"x": 1.0}))


numbers = st.floats() | st.integers() | st.none() | st.text(max_size=3) | st.booleans() | st.complex_numbers()
nested = st.recursive(
    numbers, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
)
LIGHT = [door for door, right in DOORS.items() if not {"cell", "file", "path", "urdf", "uri", "cell_file"} & set(right)]


@settings(max_examples=400)
@given(st.sampled_from(LIGHT), st.data())
def test_any_value_of_any_argument_is_accepted_or_refused(function, data):
    right = DOORS[function]
    wrong = data.draw(st.dictionaries(st.sampled_from(sorted(right)), nested, min_size=1, max_size=3))
    answer(partial(function), {**right, **wrong})
