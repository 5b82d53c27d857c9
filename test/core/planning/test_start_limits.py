"""A start slightly beyond a position limit is moved to the limit with a warning, by every way of planning."""

import math
import shutil
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from hypothesis import given
from hypothesis import strategies as st
from loaded_cells import loaded
from planning_cells import gantry

from robot_cell_planner.errors import JointLimitError, StartBeyondLimitsError, Value, distinct_texts
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.start_limits import clamped_start, states_beyond_limits
from robot_cell_planner.offline import OfflineCell
from robot_cell_planner.planning.cartesian.path.options import CartesianOptions, CartesianStrategy
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.plan_check import verify_plan
from robot_cell_planner.planning.path.processing import PathRequest, PathTool, check_joint_path, process_path
from robot_cell_planner.planning.path.timing import PathTiming, time_joint_path
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.problem.steps import MotionStep, MultistepRequest
from robot_cell_planner.planning.sequence import plan_multistep
from robot_cell_planner.planning.workers.tasks import ValidationRequest, validate_trajectory
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.trajectory.timing import TimingOptions

CONFIG = Path(__file__).parents[3] / "config"
UR10, UR10_STATE = loaded("ur10")
UP = UR10.robot_of_group().named_state("", "up")
GROUP = UR10.group()
ELBOW = GROUP.variables.index("elbow_joint")
NEARLY = [-3.5e-15, -1e-9, -9.9e-4]
STRICT = PlanningOptions(start_limit_tolerance=0.0)


def up(elbow):
    """The UR10 in its named state `up`, whose elbow is at its lower limit of 0, but for the elbow."""
    return UR10_STATE.with_configuration({**UP, "elbow_joint": elbow})


def home(**fields):
    return MotionRequest(Goals(named_states=("home",)), **fields)


def warned(warnings, value):
    """Whether a warning names joint, value and limit."""
    return any("elbow_joint" in text and f"{value:.6g} rad" in text and "limit 0 rad" in text for text in warnings)


@pytest.mark.parametrize("elbow", NEARLY)
def test_a_motion_is_planned_from_the_limit(elbow):
    plan = plan_motion(UR10, up(elbow), home())
    assert plan.path[0][ELBOW] == 0.0
    assert plan.trajectory.positions[0][ELBOW] == 0.0
    assert (np.delete(plan.path[0], ELBOW) == [UP[name] for name in GROUP.variables if name != "elbow_joint"]).all()
    assert warned(plan.warnings, elbow)
    assert verify_plan(UR10, up(elbow), plan).valid
    assert not warned(plan_motion(UR10, up(0.0), home()).warnings, elbow)


def test_a_start_that_is_further_beyond_is_refused():
    with pytest.raises(StartBeyondLimitsError):
        plan_motion(UR10, up(-1.01e-3), home())
    with pytest.raises(StartBeyondLimitsError, match=r"elbow_joint = -3\.5e-15 rad \(limit 0 rad\)"):
        plan_motion(UR10, up(-3.5e-15), home(options=STRICT))
    assert plan_motion(UR10, up(-0.004), home(options=PlanningOptions(start_limit_tolerance=0.005))).path[0][ELBOW] == 0


@pytest.mark.parametrize("elbow", NEARLY)
def test_steps_are_planned_from_the_limit(elbow):
    steps = (MotionStep(Goals(named_states=("home",))), MotionStep(Goals(named_states=("up",))))
    first, second = plan_multistep(UR10, up(elbow), MultistepRequest(steps, timing=None))
    assert first.path[0][ELBOW] == 0.0
    assert warned(first.warnings, elbow)
    assert not second.warnings or not warned(second.warnings, elbow)


def gantry_at(x):
    cell, state = gantry()
    return cell, state.with_configuration({"x": x, "y": 0.2})


@pytest.mark.parametrize("strategy", list(CartesianStrategy), ids=lambda strategy: strategy.value)
@pytest.mark.parametrize("x", [1.0 + 2.3e-16, 1.0 + 1e-9, 1.00099])
def test_a_line_is_followed_from_the_limit(x, strategy):
    cell, state = gantry_at(x)
    waypoints = FrameWaypoints((Pose((0.7, 0.1, 0.0)),), mode=TargetMode.ROBOT)
    plan = plan_cartesian(cell, state, CartesianRequest(waypoints, options=CartesianOptions(strategy=strategy)))
    assert plan.path[0].tolist() == [1.0, 0.2]
    assert plan.trajectory.positions.max() == 1.0
    assert any("joint x starts at" in text for text in plan.warnings)
    strict = CartesianOptions(strategy=strategy, start_limit_tolerance=0.0)
    with pytest.raises(StartBeyondLimitsError):
        plan_cartesian(cell, state, CartesianRequest(waypoints, options=strict))


TOOLS = [tool for tool in PathTool if tool is not PathTool.CONCATENATE]
BEYOND = 1.0 + 1e-9


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.value)
def test_path_tools_begin_at_the_limit(tool):
    cell, state = gantry_at(BEYOND)
    path = np.array([[BEYOND, 0.2], [0.5, 0.3], [0.0, 0.0]])
    done = process_path(cell, state, PathRequest(tool, ("x", "y"), (path,), spacing=0.1))
    assert done.path.max() == 1.0
    assert any("joint x starts at" in text for text in done.warnings)
    further = path + np.array([[2e-3, 0.0], [0.0, 0.0], [0.0, 0.0]])
    with pytest.raises(JointLimitError):
        process_path(cell, state, PathRequest(tool, ("x", "y"), (further,), spacing=0.1))
    later = path[[1, 0, 2]]
    with pytest.raises(JointLimitError, match="waypoint 1 is beyond limits of joint x") as caught:
        process_path(cell, state, PathRequest(tool, ("x", "y"), (later,), spacing=0.1))
    assert "1.000000001" in str(caught.value)  # against the limit of 1


def test_a_path_is_checked_and_timed_from_the_limit():
    cell, state = gantry_at(BEYOND)
    path = np.array([[BEYOND, 0.2], [0.5, 0.3]])
    found = check_joint_path(cell, state, ("x", "y"), path)
    assert not found.violations
    assert any("joint x starts at" in text for text in found.record.warnings)
    timed = time_joint_path(cell, state, PathTiming(("x", "y"), path, TimingOptions(), PlanningOptions()))
    assert timed.trajectory.positions.max() == 1.0
    assert timed.report.valid
    assert any("joint x starts at" in text for text in timed.report.warnings)
    assert check_joint_path(cell, state, ("x", "y"), path, options=STRICT).violations


def validated(trajectory, state, **fields):
    request = ValidationRequest(trajectory, start=state.configuration, start_tolerance=0.01, **fields)
    return validate_trajectory(Scene(UR10, state), request, None)


def test_a_trajectory_may_begin_beyond_a_limit_but_not_move_further():
    trajectory = plan_motion(UR10, up(0.0), home()).trajectory
    for excess, valid in ((9.9e-4, True), (1.01e-3, False)):
        shift = np.zeros(len(trajectory.variables))
        shift[ELBOW] = -excess
        away = replace(trajectory, positions=trajectory.positions + shift)
        report = validated(away, up(-excess))
        assert report.valid is valid
        assert warned(report.warnings, -excess) is valid
        assert not validated(away, up(-excess), start_limit_tolerance=0.0).valid
    later = trajectory.positions.copy()
    later[len(later) // 2, ELBOW] = -1e-4
    assert not validated(replace(trajectory, positions=later), up(0.0)).valid


@pytest.mark.parametrize("elbow", NEARLY)
def test_inverse_kinematics_from_beyond_a_limit_stays_within_it(elbow):
    target = forward_kinematics(UR10, up(0.4))
    found = inverse_kinematics(UR10, up(elbow), FrameTarget(pose=target, mode=TargetMode.ROBOT))
    assert len(found.solutions)
    assert (found.solutions[:, ELBOW] >= 0.0).all()


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_numbers_that_differ_are_printed_differently(value, limit):
    texts = distinct_texts(value, limit)
    assert (texts[0] != texts[1]) == (value != limit)


@given(st.floats(-10.0, 10.0), st.integers(1, 1000))
def test_a_value_against_a_limit_shows_the_difference(limit, steps):
    value = limit
    for _ in range(steps):
        value = math.nextafter(value, math.inf)
    found, _, rest = str(Value("joint", value, limit)).removeprefix("joint = ").partition(" ")
    assert found != rest.removeprefix("(limit ").removesuffix(")")


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=6, max_size=6))
def test_only_values_slightly_beyond_limits_are_moved(values):
    definitions = [UR10.variables[name] for name in GROUP.variables]
    clamped, warnings = clamped_start(definitions, values)
    moved = 0
    for variable, value, new in zip(definitions, values, clamped, strict=True):
        low, high = variable.limits.lower, variable.limits.upper
        if low <= value <= high or not (low - 1e-3 <= value <= high + 1e-3):
            assert new == value or math.isnan(value)
        else:
            moved += 1
            assert new == (low if value < low else high)
    assert len(warnings) == moved


def test_states_beyond_limits_are_reported_when_a_cell_is_loaded(tmp_path, caplog):
    for name in ("package.xml", "config/ur10", "urdf"):
        source, target = CONFIG.parent / name, tmp_path / name
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    srdf = tmp_path / "config" / "ur10" / "ur10.srdf"
    srdf.write_text(srdf.read_text().replace('name="elbow_joint" value="0"', 'name="elbow_joint" value="-1e-7"'))
    load_cell(tmp_path / "config" / "ur10" / "cell.yaml")
    expected = "named state 'manipulator/up' of robot ur10 has joint elbow_joint at -1e-07 rad, beyond its limit 0 rad"
    assert any(expected in record.getMessage() for record in caplog.records), caplog.text


@pytest.mark.parametrize("name", ["demo", "ur10"])
def test_default_and_named_states_of_the_shipped_cells_are_within_limits(name):
    assert states_beyond_limits(*loaded(name)) == ()


def test_a_tool_whose_joint_is_beyond_its_limit_is_reported():
    cell, state = loaded("demo")
    wide = msgspec.structs.replace(state.tools["gripper"], configuration=frozendict({"finger_joint": 0.3}))
    (text,) = states_beyond_limits(cell, state.with_tool("gripper", wide))
    assert text.startswith("the state has joint gripper/finger_joint at 0.3 m, beyond its limit 0.0")


def test_the_ur10_can_leave_its_state_up():
    """From `up` to home and back, with the elbow at the measured value of a drive at its end stop."""
    with OfflineCell(UR10, up(-3.5e-15)) as cell:
        away = cell.move("home", named_state="home")
        back = cell.move("up", named_state="up")
    assert warned(away.warnings, -3.5e-15)
    assert back.end_configuration()["elbow_joint"] == 0.0
