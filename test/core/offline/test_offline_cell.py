"""OfflineCell, the interface for scripts: goals of every kind, bodies in one line, and reports of executed motions."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import trimesh
from recordings import replay_of

from robot_cell_planner import (
    CollisionChecker,
    FrameTarget,
    Goals,
    OfflineCell,
    Pose,
    SetJoints,
    TargetMode,
    TimingOptions,
    forward_kinematics,
    world_pose,
)
from robot_cell_planner.errors import (
    ExecutionError,
    GeometryError,
    GoalToleranceError,
    InvalidRequestError,
    NotSupportedError,
    TrackingError,
    TrajectoryStartError,
    UnknownNameError,
)
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.state import BodyState, RobotCellState
from robot_cell_planner.offline import outcome
from robot_cell_planner.offline.outcome import executed_motion
from robot_cell_planner.scene.model_changes import Add, Remove
from robot_cell_planner.simulation.contacts import ContactRecord

DEMO = Path(__file__).parents[3] / "config" / "demo" / "cell.yaml"
DOWN = 3.141592653589793


@pytest.fixture
def cell():
    with OfflineCell.load(DEMO) as loaded:
        yield loaded


def test_a_pose_instead_of_a_frame_is_a_pose_in_the_world(cell):
    pose = Pose.from_rpy((0.4, -0.35, 1.15), (DOWN, 0.0, 0.0))
    flange = forward_kinematics(cell.cell, cell.state)
    for plan, same in (
        (cell.plan(tool_at=pose), cell.plan(tool_at="world", pose=pose)),
        (cell.plan(flange_at=flange), cell.plan(flange_at="world", pose=flange)),
        (cell.plan_line(flange_at=flange), cell.plan_line(flange_at="world", pose=flange)),
    ):
        assert plan.path.tolist() == same.path.tolist()
    for plan in (cell.plan, cell.plan_line):
        with pytest.raises(InvalidRequestError, match="beside a pose in the world"):
            plan(tool_at=pose, pose=flange)
        with pytest.raises(InvalidRequestError, match="tool_at is 5, expected"):
            plan(tool_at=5)


def test_goals_of_every_kind_are_reached(cell):
    home = cell.state.configuration
    variables = cell.cell.group().variables
    given = [home[name] for name in variables]
    given[0] += 0.3
    pose = Pose.from_rpy((0.4, -0.35, 1.15), (DOWN, 0.0, 0.0))
    flange = forward_kinematics(cell.cell, cell.state)
    assert cell.plan(joints=given).path[-1].tolist() == given
    assert cell.plan(joints={variables[0]: given[0]}).path[-1].tolist() == given
    for plan, mode, expected in (
        (cell.plan(tool_at="world", pose=pose), TargetMode.TOOL, pose),
        (cell.plan(flange_at="world", pose=flange, joints=None), TargetMode.ROBOT, flange),
        (cell.plan_line(tool_at="gripper/tcp", pose=Pose((0.0, 0.0, -0.05))), TargetMode.TOOL, None),
    ):
        reached = cell.state.with_configuration(plan.end_configuration())
        expected = expected or cell.pose("gripper/tcp") @ Pose((0.0, 0.0, -0.05))
        found = forward_kinematics(cell.cell, reached, mode=mode)
        assert found.distance_to(expected) == pytest.approx((0.0, 0.0), abs=1e-5)
    several = Goals(named_states=("home",), targets=(FrameTarget(pose=pose, mode=TargetMode.TOOL),))
    assert cell.plan(goals=several).goal in (0, 1)
    assert cell.plan(named_state=("home", "up")).goal == 0
    assert cell.plan(joints=given, timing=None).trajectory is None
    assert cell.state.configuration == home  # nothing was executed
    assert cell.motions == []


def test_any_frame_that_the_robot_moves_can_be_sent_to_a_place(cell):
    """Descriptions with a gripper have no tool: their tool centre point is a link or a named frame."""
    down = Pose((0.0, 0.0, -0.05))
    for name in ("wrist_3_link", "gripper/left_finger"):
        expected = cell.pose(name) @ down
        for plan in (
            cell.plan(frame_at={name: name}, pose=down),
            cell.plan(frame_at={name: expected}),
            cell.plan_line(frame_at={name: name}, pose=down),
        ):
            reached = cell.state.with_configuration(plan.end_configuration())
            assert world_pose(cell.cell, reached, name).distance_to(expected) == pytest.approx((0.0, 0.0), abs=1e-5)
    for given in (
        {"frame_at": {"wrist_3_link": "world", "tool0": "world"}},
        {"frame_at": {"tool0": "world"}, "tool_at": "world"},
    ):
        with pytest.raises(InvalidRequestError, match=r"2 kinds of goals are given, .* frame_at, goals"):
            cell.plan(**given)


def test_a_line_keeps_the_speed_that_is_requested(cell):
    plan = cell.plan_line(tool_at="gripper/tcp", pose=Pose((0.0, 0.0, -0.05)), timing=TimingOptions(path_speed=0.01))
    states = [
        cell.state.with_configuration(dict(zip(plan.variables, q, strict=True))) for q in plan.trajectory.positions
    ]
    points = np.array([world_pose(cell.cell, state, "gripper/tcp").position for state in states])
    speeds = np.linalg.norm(np.diff(points, axis=0), axis=1) / np.diff(plan.trajectory.times)
    assert 0.0099 < speeds.max() < 0.010001
    assert cell.plan_line(tool_at="gripper/tcp", pose=Pose((0.0, 0.0, -0.05)), timing=None).trajectory is None


def test_a_goal_that_is_not_clear_is_refused(cell):
    with pytest.raises(InvalidRequestError):
        cell.plan()
    with pytest.raises(InvalidRequestError, match="2 kinds of goals"):
        cell.plan(named_state="home", joints={"wrist_1_joint": 0.4})
    with pytest.raises(InvalidRequestError, match="2 joint values are given, group manipulator has 6"):
        cell.plan(joints=[0.0, 1.0])


def test_a_box_that_is_added_is_planned_around(cell):
    free = cell.plan(joints={"shoulder_pan_joint": 1.2}, timing=None)
    middle = cell.state.with_configuration(dict(zip(free.variables, free.path.mean(axis=0), strict=True)))
    place = forward_kinematics(cell.cell, middle, mode=TargetMode.TOOL)
    cell.add_box("wall", (0.05, 0.05, 0.05), Pose(place.position))
    checker = CollisionChecker(cell.cell, cell.state, free.variables)
    steps = np.linspace(0.0, 1.0, 200)[:, None]
    straight = np.vstack([a + steps * (b - a) for a, b in zip(free.path, free.path[1:], strict=False)])
    assert checker.in_collision_batch(straight).any()
    around = cell.plan(joints={"shoulder_pan_joint": 1.2}, timing=None)
    dense = np.vstack([a + steps * (b - a) for a, b in zip(around.path, around.path[1:], strict=False)])
    assert not checker.in_collision_batch(dense).any()


def test_bodies_are_added_before_the_simulation_begins(cell):
    with pytest.raises(UnknownNameError, match="bench"):
        cell.add_box("lid", (0.1, 0.1, 0.01), attached_to="bench")
    cell.add_box("lid", (0.1, 0.1, 0.01), Pose((0.0, 0.0, 0.3)), attached_to="table")
    assert cell.pose("lid").position[2] == pytest.approx(cell.pose("table").position[2] + 0.3)
    assert cell.simulation.body_pose("lid").distance_to(cell.pose("lid"))[0] < 1e-6
    with pytest.raises(NotSupportedError, match="before the first motion"):
        cell.add_box("other", (0.1, 0.1, 0.1))


def test_a_body_can_be_added_after_a_motion_as_the_error_says(cell):
    cell.move("aside", joints={"shoulder_pan_joint": -0.9})
    with pytest.raises(NotSupportedError, match=r"in OfflineCell\(cell\.cell, cell\.state\)"):
        cell.add_box("lid", (0.1, 0.1, 0.01))
    with OfflineCell(cell.cell, cell.state) as other:
        other.add_box("lid", (0.1, 0.1, 0.01), Pose((0.0, 0.0, 0.3)), attached_to="table")
        other.move("back", joints={"shoulder_pan_joint": -1.2})
        assert "lid" in other.simulation.state().bodies


@pytest.mark.parametrize(("scale", "is_doubtful"), [(1.0, True), (0.001, False)])
def test_a_mesh_in_mm_has_a_warning(scale, is_doubtful, cell, tmp_path, caplog):
    trimesh.creation.box((300.0, 200.0, 100.0)).export(tmp_path / "part.stl")
    cell.add_mesh("part", tmp_path / "part.stl", Pose((0.0, 0.0, 500.0)), scale=scale)
    text = "body part is 300 x 200 x 100 m large; is its size in mm?"
    assert caplog.messages == ([text] if is_doubtful else [])


def test_a_box_in_mm_has_a_warning(cell, caplog):
    cell.add_box("part", (300.0, 200.0, 100.0), Pose((0.0, 0.0, 500.0)))
    assert caplog.messages == ["body part is 300 x 200 x 100 m large; is its size in mm?"]


def test_a_file_of_points_is_refused_as_it_is_added(cell, tmp_path):
    points = np.random.default_rng(0).normal(size=(100, 3))
    trimesh.PointCloud(points).export(tmp_path / "scan.ply")
    with pytest.raises(GeometryError, match="has no triangles"):
        cell.add_mesh("scan", tmp_path / "scan.ply")
    assert "scan" not in cell.cell.bodies


def test_a_motion_reports_its_lag_and_no_contacts(cell):
    cell.move("aside", joints={"shoulder_pan_joint": -0.9})
    (executed,) = cell.motions
    assert executed.contacts == ()
    assert max(executed.end_errors.values()) < 1e-3
    assert 0.0 < executed.lag["shoulder_pan_joint"] < 0.2
    reached = cell.simulation.state().configuration["shoulder_pan_joint"]
    assert reached == pytest.approx(-0.9, abs=1e-3)


def test_a_collision_with_an_object_unknown_to_the_planner_is_an_error(cell):
    """The simulation contains a wall that is later hidden from the planner."""
    plan = cell.plan(joints={"shoulder_pan_joint": 0.6})
    row = plan.path[-1] * 0.6 + plan.path[0] * 0.4
    there = cell.state.with_configuration(dict(zip(plan.variables, row.tolist(), strict=True)))
    cell.add_box("wall", (0.1, 0.1, 0.1), Pose(forward_kinematics(cell.cell, there, mode=TargetMode.TOOL).position))
    with pytest.raises((ExecutionError, TrackingError)) as failure:
        cell.follow("into the wall", plan)
    assert any("wall" in subject for subject in failure.value.subjects)
    assert failure.value.partial.contacts
    assert cell.motions == [failure.value.partial]


@pytest.mark.parametrize(("depth", "force", "counts"), [(0.0, 0.0, 0), (5e-5, 0.0, 0), (5e-4, 0.0, 1), (0.0, 0.1, 1)])
def test_surfaces_that_meet_without_force_or_depth_do_not_end_a_motion(cell, depth, force, counts):
    plan = cell.plan(joints={"shoulder_pan_joint": -0.9})
    end = cell.state.with_configuration(plan.end_configuration())
    record = ContactRecord("forearm_link", "table", 0.1, 0.2, 3, depth, force)
    simulation = SimpleNamespace(state=lambda: end, contact_log=(record,))
    executed = executed_motion(cell.cell, end, plan, simulation, {}, 0.0)
    assert len(executed.contacts) == counts


@pytest.mark.parametrize(("resolved", "depth", "near"), [(1e-4, 5e-5, 1), (-1e-4, 5e-5, 0), (1e-4, 5e-4, 0)])
def test_links_that_are_nearly_in_contact_in_the_plan_may_touch(cell, monkeypatch, resolved, depth, near):
    """resolved [m]: excess of the gap that the physics engine resolves over the gap of the links."""
    plan = cell.plan(joints={"shoulder_pan_joint": -0.9})
    end = cell.state.with_configuration(plan.end_configuration())
    checker = CollisionChecker(cell.cell, end, plan.variables)
    gap = checker.search_of_pair("upper_arm_link", "wrist_1_link").closest_of(plan.path, np.inf)[1].distance
    monkeypatch.setattr(outcome, "PHYSICS_GAP", gap + resolved)
    records = [ContactRecord(name, "wrist_1_link", 0.1, 0.2, 3, depth, 2.0) for name in ("upper_arm_link", "table")]
    simulation = SimpleNamespace(state=lambda: end, contact_log=records)
    executed = executed_motion(cell.cell, end, plan, simulation, {}, 0.0)
    assert executed.near_contacts == tuple(records[:near])
    assert executed.contacts == tuple(records[near:])


def test_a_part_that_is_not_gripped_is_lost(cell):
    """The gripper remains open, while the planner assumes that it holds the workpiece."""
    cell.move("above", tool_at="above_pick")
    cell.line("down", tool_at="pick")
    cell.attach("workpiece", "gripper/tcp", touch_links=("gripper/left_finger", "gripper/right_finger"))
    with pytest.raises(ExecutionError, match="workpiece slipped or was lost") as failure:
        cell.line("up", tool_at="above_pick")
    assert failure.value.partial.part_errors["workpiece"] > 0.05


def test_a_start_in_collision_has_a_warning(cell, caplog):
    cell.add_box("block", (0.2, 0.2, 0.2), cell.pose("gripper/tcp"))
    with OfflineCell(cell.cell, cell.state):
        assert "block" in caplog.text


def test_a_plan_from_another_start_is_not_executed(cell):
    plan = cell.plan(joints={"shoulder_pan_joint": -0.5})
    before = cell.move("away", joints={"shoulder_pan_joint": 1.0}).end_configuration()
    with pytest.raises(TrajectoryStartError, match="away from the present position of shoulder_pan_joint"):
        cell.follow("back", plan)
    assert cell.state.configuration["shoulder_pan_joint"] == before["shoulder_pan_joint"]
    assert len(cell.motions) == 1


def test_a_simulated_robot_that_a_command_moved_away_does_not_follow_a_plan(cell):
    joint = "shoulder_pan_joint"
    cell.command("jog", {joint: cell.state.configuration[joint] + 0.5}, 2.0)
    with pytest.raises(TrajectoryStartError, match=r"0\.5 rad away from the simulated position of shoulder_pan"):
        cell.move("away", joints={"elbow_joint": 1.5})
    assert not cell.motions
    cell.apply(SetJoints(cell.simulation.state().configuration))
    cell.move("away", joints={"elbow_joint": 1.5})
    assert cell.motions[0].lag[joint] < 0.01


@pytest.mark.parametrize("ends", [KeyboardInterrupt, None])
def test_motions_after_one_that_did_not_end_begin_where_the_robot_is(cell, monkeypatch, ends):
    joint, step = "shoulder_pan_joint", cell.simulation.step
    until = cell.simulation.time + 0.3

    def interrupted(period):
        if cell.simulation.time > until:
            if ends is not None:
                raise ends
            cell.simulation.set_targets(dict(cell.simulation.state().configuration))
        step(period)

    before = cell.state.configuration[joint]
    with monkeypatch.context() as patched:
        patched.setattr(cell.simulation, "step", interrupted)
        with pytest.raises(GoalToleranceError if ends is None else ends):
            cell.move("aside", joints={joint: before + 1.0})
    reached = cell.simulation.state().configuration[joint]
    assert before + 0.02 < reached < before + 0.9
    assert cell.state.configuration[joint] == pytest.approx(reached, abs=0.01)
    cell.move("on", joints={joint: before + 1.0})
    assert cell.simulation.state().configuration[joint] == pytest.approx(before + 1.0, abs=0.02)


def test_a_plan_of_another_cell_is_not_executed(cell):
    plan = cell.plan(joints={"shoulder_pan_joint": -0.5})
    other = replace(plan, variables=tuple(name.replace("pan", "pam") for name in plan.variables))
    with pytest.raises(UnknownNameError, match=r"'shoulder_pam_joint' of the plan.*nearest: shoulder_pan_joint"):
        cell.follow("away", other)
    assert not cell.motions


def added_crate(cell):
    models = RobotCell(name=cell.cell.name, bodies={"crate": RigidBody("crate", (Shape(Box((0.1, 0.1, 0.1))),))})
    return Add(models, RobotCellState(bodies={"crate": BodyState(pose=Pose((0.6, 0.6, 0.9)))}))


def test_a_replay_shows_what_was_simulated_also_after_changes_of_the_scene(cell, tmp_path, caplog):
    cell.command("wait", {}, 0.05)
    cell.write_replay(tmp_path / "before.html")
    assert not caplog.messages
    cell.apply(added_crate(cell), Remove("post"))
    page = cell.write_replay(tmp_path / "after.html")
    (warning,) = caplog.messages
    assert warning.endswith("the replay shows the simulation, which began before the change of crate, post")
    objects = [each["object"] for each in replay_of(page.read_text())[0]["objects"]]
    assert "post" in objects
    assert "crate" not in objects


def test_a_replay_before_the_first_motion_shows_the_present_state(cell, tmp_path):
    cell.apply(added_crate(cell))
    replay, _ = replay_of(cell.write_replay(tmp_path / "page.html").read_text())
    assert "crate" in [each["object"] for each in replay["objects"]]
    assert replay["segments"] == []


def test_a_cell_that_was_closed_executes_nothing_and_still_plans(cell):
    cell.move("away", joints={"shoulder_pan_joint": -0.9})
    cell.close()
    cell.close()
    plan = cell.plan(joints={"shoulder_pan_joint": -0.5})
    for call in (lambda: cell.follow("on", plan), lambda: cell.command("on", {"elbow_joint": 1.0}, 0.1)):
        with pytest.raises(NotSupportedError, match="ended by close"):
            call()
