"""Options of the timing that do not apply to Cartesian motions are named in warnings, or refused."""

import numpy as np
import pytest
from loaded_cells import loaded

from robot_cell_planner.errors import NotSupportedError
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.cartesian.path.options import CartesianOptions
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.problem.request import Goals
from robot_cell_planner.planning.problem.steps import MotionStep, MultistepRequest
from robot_cell_planner.planning.sequence import plan_multistep
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions

SIDEWAYS = Pose((0.0, 0.05, 0.0))


@pytest.fixture(scope="module")
def scene():
    cell, state = loaded()
    return cell, state, forward_kinematics(cell, state, mode=TargetMode.TOOL) @ SIDEWAYS


def planned(scene, **timing):
    cell, state, end = scene
    waypoints = FrameWaypoints((end,), mode=TargetMode.TOOL)
    options = CartesianOptions(check_collision=False)
    return plan_cartesian(cell, state, CartesianRequest(waypoints, options=options, timing=TimingOptions(**timing)))


def test_methods_and_blends_that_a_cartesian_motion_ignores_are_named(scene):
    default = planned(scene)
    assert planned(scene, method=TimingMethod.FOLLOW_SAMPLES).warnings == default.warnings
    requests = (
        ({"method": TimingMethod.SMOOTH}, "method 'smooth' was not"),
        ({"blend_tolerance": 0.2}, "blend_tolerance 0.2"),
    )
    for options, text in requests:
        plan = planned(scene, **options)
        (warning,) = set(plan.warnings) - set(default.warnings)
        assert text in warning
        assert "Cartesian" in warning
        np.testing.assert_array_equal(plan.trajectory.positions, default.trajectory.positions)


@pytest.mark.parametrize("option", ["start_velocity", "end_velocity"])
@pytest.mark.parametrize("method", TimingMethod)
def test_velocities_at_the_ends_of_a_cartesian_motion_are_refused(scene, option, method):
    name = scene[0].group().variables[2]
    with pytest.raises(NotSupportedError, match=f"Cartesian motion starts and ends at rest; leave {option}") as caught:
        planned(scene, method=method, **{option: {name: 0.1}})
    assert caught.value.subjects == (option, name)
    assert [value.unit for value in caught.value.values] == ["rad/s"]
    assert planned(scene, method=method, **{option: {name: 0.0}}).trajectory is not None


def test_the_method_of_a_sequence_is_that_of_its_other_steps(scene):
    cell, state, end = scene
    straight = MotionStep(Goals(targets=(FrameTarget(end, mode=TargetMode.TOOL),)), straight=True)
    timings = (TimingOptions(), TimingOptions(method=TimingMethod.SMOOTH, blend_tolerance=0.2))
    plans = [plan_multistep(cell, state, MultistepRequest((straight,), timing=timing))[0] for timing in timings]
    assert plans[0].warnings == plans[1].warnings
    np.testing.assert_array_equal(plans[0].trajectory.positions, plans[1].trajectory.positions)
