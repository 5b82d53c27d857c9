"""Two arms hand over a bar, without ROS: python examples/hand_over_library.py [cell file] [seed] [folder]"""

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
left, right = "left/manipulator", "right/manipulator"
fingers = {side: (f"{side}_gripper/left_finger", f"{side}_gripper/right_finger") for side in ("left", "right")}


def tool_at(frame: str) -> FrameTarget:
    return FrameTarget(pose=IDENTITY, mode=TargetMode.TOOL, reference_frame=frame)


def bar_at(frame: str) -> FrameTarget:
    return FrameTarget(pose=IDENTITY, mode=TargetMode.WORKPIECE, reference_frame=frame)


def together(**parts: FrameTarget | str) -> Goals:
    """Goals of both arms, reached at the same time."""
    return Goals(simultaneous=(SimultaneousGoal({f"{side}/manipulator": goal for side, goal in parts.items()}),))


with OfflineCell.load(cell_file, seed=seed, report=print) as cell:

    def fingers_to(side: str, position: float, reached: float) -> None:
        """Move the fingers of a gripper; the planner is given the position at which they stop."""
        joint = f"{side}_gripper/finger_joint"
        cell.command(f"{side} fingers", {joint: position}, duration=0.5)
        cell.apply(SetJoints({joint: reached}))

    cell.move("left to the bar, right up", goals=together(left=tool_at("above_left_grasp"), right="up"), group="both")
    cell.line("left down to the bar", tool_at="left_grasp", group=left)
    fingers_to("left", 0.0, gripping)
    cell.attach("bar", "left_gripper/tcp", touch_links=fingers["left"])
    cell.line("left up with the bar", workpiece_at="lifted", group=left)
    cell.apply(SetTouch("bar", touch_bodies=()))
    # The goal of the right arm is relative to the bar, at the pose to which the left arm moves it.
    meeting = together(left=bar_at("exchange"), right=tool_at("above_right_grasp"))
    cell.move("both to the exchange", goals=meeting, group="both")
    cell.line("right down to the bar", tool_at="right_grasp", group=right)
    fingers_to("right", 0.0, gripping)
    cell.attach("bar", "right_gripper/tcp", touch_links=(*fingers["left"], *fingers["right"]))
    fingers_to("left", opened, opened)
    cell.line("left up from the bar", tool_at="above_left_grasp", group=left)
    cell.attach("bar", "right_gripper/tcp", touch_links=fingers["right"])
    cell.move("right over its side", goals=together(left="home", right=bar_at("above_place")), group="both")
    cell.apply(SetTouch("bar", touch_bodies=("table",)))
    cell.line("right down to the table", workpiece_at="place", group=right)
    fingers_to("right", opened, opened)
    cell.detach("bar")
    cell.line("right up from the bar", tool_at="above_right_grasp", group=right)
    cell.move("both home", named_state="home", group="both")

    distance, angle = cell.simulation.body_pose("bar").distance_to(cell.pose("place"))
    touching = [{contact.first, contact.second} for contact in cell.simulation.contact_log]
    unwanted = [pair for pair in touching if pair - {*fingers["left"], *fingers["right"], "table", "bar"}]
    result = f"{1e3 * distance:.2f} mm and {math.degrees(angle):.2f} degrees from its goal"
    result += f", {len(unwanted)} unwanted contacts"
    print("bar:", result)
    print("replay:", cell.write_replay(f"{folder}/library_{cell.cell.name}.html", {"bar": result}))
sys.exit(distance > 1e-3 or math.degrees(angle) > 0.5 or bool(unwanted))
