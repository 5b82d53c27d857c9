"""An arm on a rail that is a separate robot: both form a chain, whose plans are free by another engine."""

import numpy as np
import pytest
from independent_cell import IndependentCell, dense, prefixed_urdf
from reference import reference_world_pose

from robot_cell_planner import (
    IDENTITY,
    CartesianRequest,
    CollisionChecker,
    Detach,
    FrameTarget,
    FrameWaypoints,
    Goals,
    MotionRequest,
    PlanningOptions,
    Pose,
    ResourceRoots,
    Scene,
    TargetMode,
    apply_changes,
    check_joint_path,
    composite_inverse_kinematics,
    inverse_kinematics,
    load_cell,
    plan_cartesian,
    plan_motion,
    process_path,
    verify_plan,
    world_pose,
)
from robot_cell_planner.errors import InverseKinematicsError, ModelError
from robot_cell_planner.io.robot_description.xacro_files import expand_xacro
from robot_cell_planner.planning.path.processing import PathRequest, PathTool

RAIL = """<robot name="rail"><link name="track"/>
<link name="carriage"><collision><origin xyz="0 0 0.1"/><geometry><box size="0.4 0.4 0.2"/></geometry></collision>
</link>
<joint name="slide" type="prismatic"><parent link="track"/><child link="carriage"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" velocity="1" effort="1000"/></joint></robot>"""
SRDF = """<robot name="rail"><group name="rail"><chain base_link="track" tip_link="carriage"/></group></robot>"""
CELL = """format: robot_cell/1
robots:
  arm:
    urdf: {root}/urdf/arm.urdf.xacro
    srdf: {root}/config/demo/arm.srdf
    limits: {root}/config/demo/joint_limits.yaml
    prefix: arm/
    attached_to: carriage
    base_pose: {{position: [0, 0, 0.2]}}
  rail: {{urdf: rail.urdf, srdf: rail.srdf, base_pose: {{position: [0, 0, 0.3]}}}}
tools:
  gripper:
    urdf: {root}/urdf/gripper.urdf.xacro
    tcp: {{position: [0, 0, 0.165]}}
    attached_to: arm/manipulator
    touch_links: [arm/wrist_2_link, arm/wrist_3_link]
    configuration: {{finger_joint: 0.042}}
bodies:
  wall: {{collisions: [{{type: box, size: [0.6, 0.05, 0.9]}}], pose: {{position: [0.7, 0.0, 0.75]}}}}
  post: {{collisions: [{{type: box, size: [0.1, 0.1, 1.2]}}], pose: {{position: [0.5, -1.1, 0.6]}}}}
collision: {{ignore_groups: {{fingers: [gripper/palm, gripper/left_finger, gripper/right_finger]}}}}
groups: {{arm_on_rail: {{groups: [rail, arm/manipulator]}}}}
state: {{named: {{arm/manipulator: home}}, configuration: {{slide: 1.2}}}}
"""
ARM, BOTH = "arm/manipulator", "arm_on_rail"


@pytest.fixture(scope="module")
def on_rail(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("on_rail")
    (folder / "rail.urdf").write_text(RAIL)
    (folder / "rail.srdf").write_text(SRDF)
    (folder / "cell.yaml").write_text(CELL.format(root=request.config.rootpath))
    return load_cell(folder / "cell.yaml", ResourceRoots(folders=(str(request.config.rootpath),)))


def reference_of(cell, state, request):
    urdf = request.config.rootpath / "urdf"
    arm, gripper = (expand_xacro(urdf / f"{name}.urdf.xacro", {}) for name in ("arm", "gripper"))
    bodies = [(body, "", state.bodies[name].pose) for name, body in cell.bodies.items()]
    return IndependentCell(
        [(prefixed_urdf(RAIL, "rail/"), state.base_poses["rail"])],
        [
            (prefixed_urdf(arm, "arm/"), "rail/carriage", state.base_poses["arm"]),
            (prefixed_urdf(gripper, "arm/hand_"), "arm/tool0", IDENTITY),
        ],
        bodies,
        [("rail/carriage", "arm/base_link")],
    )


def collisions(reference, variables, rows):
    fingers = dict.fromkeys(("arm/hand_finger_joint", "arm/hand_right_finger_joint"), 0.042)
    for q in rows:
        values = dict(zip(variables, q.tolist(), strict=True))
        values = {("rail/slide" if name == "slide" else name): value for name, value in values.items()}
        found = reference.collisions({**fingers, **values})
        if found:
            return found
    return []


def there(cell, state, variables, q):
    return reference_world_pose(cell, state.with_configuration(dict(zip(variables, q, strict=True))), "gripper/tcp")


TARGET = Pose.from_rpy((0.6, -0.7, 0.7), (np.pi, 0.0, 0.0))


OTHERS = {"wall", "post", "carriage"}


def name_of(link):
    """The name of an object that is not part of the arm, "" for links of the arm."""
    name = link.rpartition("/")[2]
    return name if name in OTHERS else ""


def test_verdicts_of_random_states_agree_with_another_engine(on_rail, request):
    cell, state = on_rail
    variables = cell.group(BOTH).variables
    checker, reference = CollisionChecker(cell, state, variables), reference_of(cell, state, request)
    random, verdicts = np.random.default_rng(1), []
    for _ in range(150):
        q = np.array([random.uniform(-1.5, 1.5), *random.uniform(-2.5, 2.5, 6)])
        ours = {name_of(pair.first) + name_of(pair.second) for pair in checker.report(q).pairs}
        theirs = {name_of(first) + name_of(second) for first, second in collisions(reference, variables, [q])}
        verdicts.append(OTHERS & ours)
        assert OTHERS & ours == OTHERS & theirs
    assert {name for found in verdicts for name in found} == {"wall", "post", "carriage"}


def test_both_together_are_a_chain_with_a_longer_reach_than_the_arm(on_rail):
    cell, state = on_rail
    assert (cell.group(BOTH).base_link, cell.tip_link(BOTH)) == ("track", cell.tip_link(ARM))
    assert cell.target_groups(BOTH) == (BOTH,)
    target = FrameTarget(pose=TARGET, mode=TargetMode.TOOL)
    with pytest.raises(InverseKinematicsError):
        inverse_kinematics(cell, state, target, ARM)
    found = inverse_kinematics(cell, state, target, BOTH)
    distance, angle = there(cell, state, found.variables, found.solutions[0].tolist()).distance_to(TARGET)
    assert max(distance, angle) < 2e-6
    with pytest.raises(ModelError, match="not a chain"):
        apply_changes(Scene(cell, state), [Detach("arm")], world_pose).cell.tip_link(f"rail+{ARM}")


def test_targets_of_rail_and_arm_are_solved_in_the_order_in_which_they_move_each_other(on_rail):
    cell, state = on_rail
    carriage = world_pose(cell, state.with_configuration({"slide": -0.9}), "carriage")
    targets = {
        ARM: FrameTarget(pose=TARGET, mode=TargetMode.TOOL),
        "rail": FrameTarget(pose=carriage),
    }
    found = composite_inverse_kinematics(cell, state, targets, f"{ARM}+rail")
    assert found.solutions[0][-1] == pytest.approx(-0.9, abs=1e-6)
    distance, angle = there(cell, state, found.variables, found.solutions[0].tolist()).distance_to(TARGET)
    assert max(distance, angle) < 2e-6


@pytest.fixture(scope="module")
def plan(on_rail):
    cell, state = on_rail
    goal = Goals(targets=(FrameTarget(pose=TARGET, mode=TargetMode.TOOL),))
    return plan_motion(cell, state, MotionRequest(goal, BOTH, options=PlanningOptions(seed=3)))


def test_a_motion_along_the_rail_is_free_by_another_engine(on_rail, plan, request):
    cell, state = on_rail
    assert plan.variables == cell.group(BOTH).variables
    assert plan.certified_fraction == 1.0
    assert abs(plan.path[-1][0] - plan.path[0][0]) > 0.5
    distance, angle = there(cell, state, plan.variables, plan.path[-1].tolist()).distance_to(TARGET)
    assert max(distance, angle) < 2e-6
    reference = reference_of(cell, state, request)
    assert collisions(reference, plan.variables, dense(plan.path, 0.002)) == []
    assert collisions(reference, plan.variables, plan.trajectory.at(np.arange(0.0, plan.duration, 0.002))) == []


def test_plans_of_several_robots_are_verified_and_processed(on_rail, plan):
    cell, state = on_rail
    assert verify_plan(cell, state, plan).valid
    checker, rng = CollisionChecker(cell, state, plan.variables), np.random.default_rng(0)
    colliding = next(filter(checker.in_collision, rng.uniform(-1.0, 1.0, (100, len(plan.variables)))))
    straight = np.array((plan.path[0], colliding))
    for variables in (plan.variables, tuple(reversed(plan.variables))):
        rows = straight if variables == plan.variables else straight[:, ::-1]
        assert check_joint_path(cell, state, variables, rows).violations
    request = PathRequest(PathTool.SIMPLIFY, plan.variables, (plan.path,))
    processed = process_path(cell, state, request)
    assert verify_plan(cell, state, processed).valid


def test_a_line_longer_than_the_reach_of_the_arm(on_rail):
    cell, state = on_rail
    begin, end = Pose.from_rpy((0.6, 1.6, 0.7), (np.pi, 0.0, 0.0)), Pose.from_rpy((0.6, 0.3, 0.7), (np.pi, 0.0, 0.0))
    first = inverse_kinematics(cell, state, FrameTarget(pose=begin, mode=TargetMode.TOOL), BOTH)
    state = state.with_configuration(dict(zip(first.variables, first.solutions[0].tolist(), strict=True)))
    plan = plan_cartesian(cell, state, CartesianRequest(FrameWaypoints((end,), mode=TargetMode.TOOL), BOTH))
    for q in plan.path[:: max(1, len(plan.path) // 20)]:
        x, y, z = there(cell, state, plan.variables, q.tolist()).position
        np.testing.assert_allclose((x, z), (0.6, 0.7), atol=1e-4)
        assert 0.3 - 1e-4 <= y <= 1.6 + 1e-4
