"""Two arms hand over a bar, by topics, services and actions alone: both move at the same time wherever possible.

The left arm picks the bar up while the right one approaches, both meet above the middle of the table, and the right arm
puts it down on its side while the left one goes home. Prints a line for each segment, then the verdict: the pose of the
bar in the simulation compared with the goal, and the contacts during the motions. Leaves a record of the run, its
plans, and a page that replays it. The exit status is 0 only if everything holds. The execution node needs the
parameters of the cell, which name its grippers:

    robot_cell --cell config/two_arms/cell.yaml --params config/two_arms/parameters.yaml -- python examples/hand_over.py
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

from robot_cell_planner import IDENTITY, world_pose
from robot_cell_planner.errors import ExecutionError, RobotCellError
from robot_cell_planner.msg import (
    GoalSpec,
    PartGoal,
    PlanningOptions,
    SceneChange,
    SimultaneousGoal,
    StateRef,
    Target,
    TimingOptions,
)
from robot_cell_planner.nodes.client import (
    CellClient,
    RunRecord,
    make_pose_target,
    pose_from_message,
    pose_to_message,
    state_with_joints,
)

POSITION_TOLERANCE = 1e-3  # [m]
START_TOLERANCE = 0.01  # [m]
ANGLE_TOLERANCE = math.radians(0.5)
BAR, SIDES = "bar", ("left", "right")
OPEN, GRIPPED = 0.042, 0.025  # finger positions [m]; the bar is 0.05 m wide
GRIP_EFFORT = 40.0  # [N]
LIFT = 0.15  # [m]
SPEED = 0.6  # fraction of the joints' velocity limits


def group_of(side: str) -> str:
    return f"{side}/manipulator"


def fingers_of(*sides: str) -> list[str]:
    return [f"{side}_gripper/{finger}_finger" for side in sides for finger in SIDES]


def bar_at(frame: str) -> Target:
    return make_pose_target(frame, mode=Target.WORKPIECE)


class HandOver:
    """The task, step by step. Each motion is planned from where the one before was commanded to end."""

    def __init__(self, client: CellClient, record: RunRecord, seed: int) -> None:
        self.client = client
        self.record = record
        self.options = PlanningOptions(planner="RRTConnect", seed=seed)
        self.scene, self.revision = client.scene()
        self.joints = {**self.scene.state.configuration, **{f"{side}_gripper/finger_joint": OPEN for side in SIDES}}

    def check_start(self) -> None:
        """The bar has to lie where it lies in the cell file, also after an earlier run that ended."""
        cell, state = self.scene.cell, self.scene.state
        above, _ = world_pose(cell, state, BAR).distance_to(world_pose(cell, state, "lifted"))
        if state.bodies[BAR].attached_to or abs(above - LIFT) > START_TOLERANCE:
            text = f"the bar is {above:.3f} m below where it is lifted to, not {LIFT:g} m; start the nodes again"
            raise ExecutionError(text, subjects=(BAR,))

    def run(self) -> None:
        self.together("left to bar, right up", left=make_pose_target("above_left_grasp"), right="up")
        self.straight("left down to the bar", "left", make_pose_target("left_grasp"))
        self.grip("left")
        self.straight("left up with the bar", "left", bar_at("lifted"))
        self.touch(fingers_of("left"))
        # The goal of the right arm is relative to the bar, at the pose to which the left arm moves it.
        self.together("both to the exchange", left=bar_at("exchange"), right=make_pose_target("above_right_grasp"))
        self.straight("right down to the bar", "right", make_pose_target("right_grasp"))
        self.grip("right")
        self.open("left")
        self.straight("left up from the bar", "left", make_pose_target("above_left_grasp"))
        self.touch(fingers_of("right"))
        self.together("right over its side", left="home", right=bar_at("above_place"))
        self.touch(fingers_of("right"), "table")
        self.straight("right down to the table", "right", bar_at("place"))
        self.release()
        self.straight("right up from the bar", "right", make_pose_target("above_right_grasp"))
        self.together("both home", left="home", right="home")

    def start(self) -> StateRef:
        return state_with_joints(self.joints, self.revision)

    def together(self, name: str, **parts: Target | str) -> None:
        """Move both arms, in one time base, to goals that both reach at the same time."""
        began = time.monotonic()
        goals = [
            PartGoal(group=group_of(side), named_state=goal)
            if isinstance(goal, str)
            else PartGoal(group=group_of(side), target=[goal])
            for side, goal in parts.items()
        ]
        goal = GoalSpec(simultaneous_goals=[SimultaneousGoal(parts=goals)])
        timing = TimingOptions(method=TimingOptions.STOP_AT_WAYPOINTS, velocity_scale=SPEED)
        plan = self.client.plan_motion(goal, start=self.start(), group="both", options=self.options, timing=timing)
        self.execute(name, plan, time.monotonic() - began)

    def straight(self, name: str, side: str, target: Target) -> None:
        began = time.monotonic()
        result = self.client.plan_cartesian(target, start=self.start(), group=group_of(side), seed=self.options.seed)
        self.execute(name, result.plan, time.monotonic() - began)

    def execute(self, name: str, plan: Any, waited: float) -> None:
        segment = self.record.begin(name, plan, waited)
        done = self.client.execute(plan.trajectory)
        self.record.end(segment, done.record)
        last = plan.trajectory.points[-1].positions
        self.joints.update(zip(plan.trajectory.joint_names, last, strict=True))

    def grip(self, side: str) -> None:
        """Close a gripper; the bar is then attached to it, and all fingers that hold the bar may touch it."""
        began = self.record.now()
        self.client.move_gripper(0.0, GRIP_EFFORT, tool=f"{side}_gripper")
        grasp = self.scene.cell.frames[f"{side}_grasp"].pose
        holding = ("left",) if side == "left" else SIDES
        self.revision = self.client.apply(
            SceneChange(
                operation=SceneChange.ATTACH,
                name=BAR,
                attach_to=f"{side}_gripper/tcp",
                pose=pose_to_message(grasp.inverse()),
                touch_links=fingers_of(*holding),
                touch_bodies=["table"] if side == "left" else [],
            )
        )
        self.joints[f"{side}_gripper/finger_joint"] = GRIPPED
        self.record.step(f"close the {side} gripper", began)

    def open(self, side: str) -> None:
        began = self.record.now()
        if not self.client.move_gripper(OPEN, tool=f"{side}_gripper").reached_goal:
            raise ExecutionError(f"the {side} gripper has not opened", subjects=(f"{side}_gripper",))
        self.joints[f"{side}_gripper/finger_joint"] = OPEN
        self.record.step(f"open the {side} gripper", began)

    def touch(self, links: list[str], *bodies: str) -> None:
        """Set the links and bodies that the bar may touch from now on."""
        change = SceneChange(operation=SceneChange.SET_TOUCH, name=BAR, touch_links=links, touch_bodies=list(bodies))
        self.revision = self.client.apply(change)

    def release(self) -> None:
        self.revision = self.client.apply(
            SceneChange(
                operation=SceneChange.ATTACH,
                name=BAR,
                relative_to="place",
                pose=pose_to_message(IDENTITY),
                touch_links=fingers_of("right"),
                touch_bodies=["table"],
            )
        )
        self.open("right")


def verdict(job: HandOver, client: CellClient) -> bool:
    """Compare the simulation with the goal; True if all is well."""
    scene, _ = client.scene()
    goal = world_pose(scene.cell, scene.state, "place")
    simulation = client.settled_simulation()
    lies = next(pose_from_message(body.pose, body.name) for body in simulation.bodies if body.name == BAR)
    position, angle = lies.distance_to(goal)
    expected = {BAR, "table", *fingers_of(*SIDES)}
    unwanted = [
        contact
        for contact in simulation.contacts
        if BAR not in (contact.name_a, contact.name_b) or not {contact.name_a, contact.name_b} <= expected
    ]
    good = position <= POSITION_TOLERANCE and angle <= ANGLE_TOLERANCE and not unwanted
    job.record.verdict(position, angle, simulation.contacts, unwanted, good)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="seed of the planning; the same gives the same plans")
    parser.add_argument("--output", type=Path, help="folder for record and replay; a new demo_record by default")
    arguments = parser.parse_args()
    try:
        with CellClient("hand_over") as client:
            record = RunRecord(client, arguments.output, arguments.seed)
            job = HandOver(client, record, arguments.seed)
            job.check_start()
            job.run()
            good = verdict(job, client)
            record.write()
    except RobotCellError as error:
        print(f"hand_over: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # motions in progress were cancelled
        print("hand_over: interrupted", file=sys.stderr)
        return 130
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
