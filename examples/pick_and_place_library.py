"""The pick and place as a script without ROS: python examples/pick_and_place_library.py [cell file] [seed]"""

import sys

import numpy as np

from robot_cell_planner.cell.cell_file import load_cell
from robot_cell_planner.cell.changes import Attach, Detach, Scene, SetJoints, SetTouch, apply_changes
from robot_cell_planner.cell.pose import IDENTITY
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.planning.cartesian import CartesianRequest, plan_cartesian
from robot_cell_planner.planning.joint_space import plan_motion
from robot_cell_planner.planning.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.waypoints import FrameWaypoints
from robot_cell_planner.simulation.simulated_cell import SimulatedCell
from robot_cell_planner.viewer import Recorder, write_html

cell_file = sys.argv[1] if len(sys.argv) > 1 else "config/demo/cell.yaml"
options = PlanningOptions(seed=int(sys.argv[2]) if len(sys.argv) > 2 else 1)
cell, state = load_cell(cell_file)
robot, recorder = SimulatedCell(cell, state), Recorder()
finger, fingers = "gripper/finger_joint", ("gripper/left_finger", "gripper/right_finger")


def command(name, commands, facts):
    """Send the simulated robot a command, positions and perhaps velocities, every 10 ms."""
    start = robot.time
    for targets in commands:
        robot.set_targets(*targets)
        robot.step(0.01)
        recorder.add(robot.time, robot.state())
    row = {key: f"{value:.{0 if value > 100 else 2}f}" for key, value in facts.items()}
    recorder.segment(name, start, robot.time, row)
    print(f"{name:24}{robot.time - start:5.2f} s", *(f"{text:>7} {key}" for key, text in row.items()))


def follow(name, plan):
    """Carry out a plan; the state at its end."""
    times = np.arange(0.01, plan.duration + 0.01, 0.01)
    positions, velocities = (plan.trajectory.at(times, order).tolist() for order in (0, 1))
    named = ([dict(zip(plan.variables, row, strict=True)) for row in rows] for rows in (positions, velocities))
    facts = {"plan ms": 1e3 * sum(stage.seconds for stage in plan.times), "states": plan.states_checked}
    facts |= {"path rad": plan.path_length, "clear mm": 1e3 * plan.clearance.closest.distance}
    command(name, zip(*named, strict=True), facts)
    return after(SetJoints(plan.end_configuration()))


def move(name, **goals):
    """To a goal, round what stands in the way."""
    return follow(name, plan_motion(cell, state, MotionRequest(Goals(**goals), options=options)))


def line(name, mode, frame, pose=IDENTITY):
    """To a pose in a named frame, along a straight line."""
    waypoints = FrameWaypoints((pose,), mode=mode, reference_frame=frame)
    return follow(name, plan_cartesian(cell, state, CartesianRequest(waypoints)))


def after(*changes):
    """The state after changes of the scene."""
    return apply_changes(Scene(cell, state), changes, world_pose).state


above = FrameTarget(mode=TargetMode.TOOL, pose=IDENTITY, reference_frame="above_pick")
over = FrameTarget(mode=TargetMode.WORKPIECE, pose=IDENTITY, reference_frame="over_bin")
state = move("to above the workpiece", targets=(above,))
state = line("down to the workpiece", TargetMode.TOOL, "pick")
command("close the gripper", 50 * [({finger: 0.0},)], {})
state = after(SetJoints({finger: 0.025}), Attach("workpiece", "gripper/tcp", touch_links=fingers))
state = line("up with the workpiece", TargetMode.TOOL, "above_pick")
state = after(SetTouch("workpiece", touch_bodies=()))
state = move("over to the bin", targets=(over,))
state = after(SetTouch("workpiece", touch_bodies=("bin",)))
state = line("down into the bin", TargetMode.WORKPIECE, "place")
command("open the gripper", 50 * [({finger: 0.042},)], {})
state = after(SetJoints({finger: 0.042}), Detach("workpiece", touch_links=()))
state = line("up out of the bin", TargetMode.TOOL, "over_bin", cell.frames["grasp"].pose)
state = move("home", named_states=("home",))

distance, angle = robot.body_pose("workpiece").distance_to(world_pose(cell, state, "place"))
unwanted = [c for c in robot.contact_log if {c.first, c.second} - {*fingers, "bin", "table", "workpiece"}]
result = f"{1e3 * distance:.2f} mm and {np.degrees(angle):.2f} degrees from its goal, {len(unwanted)} unwanted contacts"
print("workpiece:", result)
recording = recorder.recording({"workpiece": result, "planner": f"{options.planner}, seed {options.seed}"})
title = f"Pick and place in the cell {cell.name}"
print("replay:", write_html(f"demo_record/library_{cell.name}.html", cell, recording, title))
sys.exit(distance > 1e-3 or np.degrees(angle) > 0.5 or bool(unwanted))
