"""Two arms carry one bar, without ROS: python examples/carry_together.py [cell file] [seed] [folder]"""

import math
import sys

from robot_cell_planner import (
    IDENTITY,
    FrameTarget,
    Goals,
    OfflineCell,
    SetJoints,
    SetTouch,
    SimultaneousGoal,
    TargetMode,
)

cell_file = sys.argv[1] if len(sys.argv) > 1 else "config/two_arms/cell.yaml"
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
folder = sys.argv[3] if len(sys.argv) > 3 else "demo_record"
opened, gripping = 0.042, 0.025  # m
sides = ("left", "right")
fingers = tuple(f"{side}_gripper/{finger}" for side in sides for finger in ("left_finger", "right_finger"))


with OfflineCell.load(cell_file, seed=seed, report=print) as cell:

    def fingers_to(position: float, reached: float) -> None:
        """Move all fingers; the planner is given the position at which they stop."""
        cell.command("fingers", {f"{side}_gripper/finger_joint": position for side in sides}, duration=0.5)
        cell.apply(SetJoints({f"{side}_gripper/finger_joint": reached for side in sides}))

    def tools_at(frames: str) -> Goals:
        """Both tools at their frames, at the same time."""
        goals = {
            f"{side}/manipulator": FrameTarget(
                pose=IDENTITY, mode=TargetMode.TOOL, reference_frame=frames.format(side=side)
            )
            for side in sides
        }
        return Goals(simultaneous=(SimultaneousGoal(goals),))

    cell.move("both to the bar", goals=tools_at("above_{side}_grasp"), group="both")
    cell.move("both down to the bar", goals=tools_at("{side}_grasp"), group="both")
    fingers_to(0.0, gripping)
    cell.attach("bar", "left_gripper/tcp", touch_links=fingers)
    # The left arm is the leader: the bar follows the line, and the right arm keeps its pose relative to the bar.
    cell.line("up", workpiece_at="lifted", group="both")
    cell.apply(SetTouch("bar", touch_bodies=()))
    cell.line("across the table", workpiece_at="above_place", group="both")
    cell.apply(SetTouch("bar", touch_bodies=("table",)))
    cell.line("down to the table", workpiece_at="place", group="both")
    fingers_to(opened, opened)
    cell.detach("bar")
    cell.line("both up from the bar", tool_at="above_left_grasp", group="both")
    cell.move("both home", named_state="home", group="both")

    distance, angle = cell.simulation.body_pose("bar").distance_to(cell.pose("place"))
    touching = [{contact.first, contact.second} for contact in cell.simulation.contact_log]
    unwanted = [pair for pair in touching if pair - {*fingers, "table", "bar"}]
    result = f"{1e3 * distance:.2f} mm and {math.degrees(angle):.2f} degrees from its goal"
    result += f", {len(unwanted)} unwanted contacts"
    print("bar:", result)
    print("replay:", cell.write_replay(f"{folder}/carry_{cell.cell.name}.html", {"bar": result}))
sys.exit(distance > 1e-3 or math.degrees(angle) > 0.5 or bool(unwanted))
