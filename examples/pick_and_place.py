"""Pick and place by topics, services and actions alone: reach over an obstacle and put the workpiece into the bin.

Prints a line for each segment, then the verdict: the pose of the workpiece in the simulation compared with the goal,
and the contacts during the motions. Leaves a record of the run, its plans, and a page that replays it. The exit status
is 0 only if everything holds.

    robot_cell --cell config/demo/cell.yaml -- python examples/pick_and_place.py
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

from robot_cell_planner import IDENTITY, Pose, world_pose
from robot_cell_planner.errors import ExecutionError, RobotCellError
from robot_cell_planner.msg import PlanningOptions, SceneChange, StateRef, Target, TimingOptions
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
GRIPPER, WORKPIECE = "gripper", "workpiece"
FINGER = f"{GRIPPER}/finger_joint"
FINGERS = (f"{GRIPPER}/left_finger", f"{GRIPPER}/right_finger")
OPEN, GRIPPED = 0.042, 0.025  # finger positions [m]; the workpiece is 0.05 m wide
GRIP_EFFORT = 40.0  # [N]
SPEED = 0.6  # fraction of the joints' velocity limits


class PickAndPlace:
    """The task, step by step. Each motion is planned from where the one before was commanded to end."""

    def __init__(self, client: CellClient, record: RunRecord, seed: int) -> None:
        self.client = client
        self.record = record
        self.options = PlanningOptions(planner="RRTConnect", seed=seed)
        self.scene, self.revision = client.scene()
        self.joints = {**self.scene.state.configuration, FINGER: OPEN}

    def check_start(self) -> None:
        """The workpiece has to lie where it lies in the cell file, also after an earlier run that ended."""
        cell, state = self.scene.cell, self.scene.state
        away, _ = world_pose(cell, state, "grasp").distance_to(world_pose(cell, state, "pick"))
        if state.bodies[WORKPIECE].attached_to or away > START_TOLERANCE:
            text = f"the workpiece is {away:.3f} m from where it is picked up; end the nodes and start them again"
            raise ExecutionError(text, subjects=(WORKPIECE,))

    def run(self) -> None:
        self.check_start()
        self.move("to above the workpiece", make_pose_target("above_pick"))
        self.straight("down to the workpiece", make_pose_target("pick"))
        self.grip()
        self.straight("up with the workpiece", make_pose_target("above_pick"))
        self.touch()
        self.move("over to the bin", make_pose_target("over_bin", mode=Target.WORKPIECE))
        self.touch("bin")
        self.straight("down into the bin", make_pose_target("place", mode=Target.WORKPIECE))
        self.release()
        self.straight("up out of the bin", self.above_the_bin())
        self.move("home", "home")

    def start(self) -> StateRef:
        return state_with_joints(self.joints, self.revision)

    def move(self, name: str, goal: Target | str) -> None:
        began = time.monotonic()
        timing = TimingOptions(method=TimingOptions.STOP_AT_WAYPOINTS, velocity_scale=SPEED)
        plan = self.client.plan_motion(goal, start=self.start(), options=self.options, timing=timing)
        self.execute(name, plan, time.monotonic() - began)

    def straight(self, name: str, target: Target) -> None:
        began = time.monotonic()
        result = self.client.plan_cartesian(target, start=self.start(), seed=self.options.seed)
        self.execute(name, result.plan, time.monotonic() - began)

    def execute(self, name: str, plan: Any, waited: float) -> None:
        segment = self.record.begin(name, plan, waited)
        done = self.client.execute(plan.trajectory)
        self.record.end(segment, done.record)
        last = plan.trajectory.points[-1].positions
        self.joints.update(zip(plan.trajectory.joint_names, last, strict=True))

    def grip(self) -> None:
        began = self.record.now()
        self.client.move_gripper(0.0, GRIP_EFFORT)
        held = world_pose(self.scene.cell, self.scene.state, "grasp").inverse() @ world_pose(
            self.scene.cell, self.scene.state, WORKPIECE
        )
        self.revision = self.client.apply(
            SceneChange(
                operation=SceneChange.ATTACH,
                name=WORKPIECE,
                attach_to=f"{GRIPPER}/tcp",
                pose=pose_to_message(held),
                touch_bodies=["table"],
            )
        )
        self.joints[FINGER] = GRIPPED
        self.record.step("close the gripper", began)

    def touch(self, *bodies: str) -> None:
        """Set the links and bodies that the workpiece may touch from now on."""
        change = SceneChange(operation=SceneChange.SET_TOUCH, name=WORKPIECE, touch_bodies=list(bodies))
        self.revision = self.client.apply(change)

    def release(self) -> None:
        began = self.record.now()
        self.revision = self.client.apply(
            SceneChange(
                operation=SceneChange.ATTACH,
                name=WORKPIECE,
                relative_to="place",
                pose=pose_to_message(IDENTITY),
                touch_bodies=["bin"],
            )
        )
        if not self.client.move_gripper(OPEN).reached_goal:
            raise ExecutionError("the gripper has not opened", subjects=(GRIPPER,))
        self.joints[FINGER] = OPEN
        self.record.step("open the gripper", began)

    def above_the_bin(self) -> Target:
        """The pose of the tool centre point at which the workpiece was over the bin."""
        grasp = self.scene.cell.frames["grasp"].pose
        return make_pose_target("over_bin", grasp)


def verdict(job: PickAndPlace, client: CellClient) -> bool:
    """Compare the simulation with the goal; True if all checks pass."""
    scene, _ = client.scene()
    goal = world_pose(scene.cell, scene.state, "place")
    simulation = client.settled_simulation()
    lies: Pose = next(pose_from_message(b.pose, b.name) for b in simulation.bodies if b.name == WORKPIECE)
    position, angle = lies.distance_to(goal)
    unwanted = [contact for contact in simulation.contacts if not _is_expected(contact)]
    good = position <= POSITION_TOLERANCE and angle <= ANGLE_TOLERANCE and not unwanted
    job.record.verdict(position, angle, simulation.contacts, unwanted, good)
    return good


def _is_expected(contact: Any) -> bool:
    """Contacts of the grip, and of the workpiece at its initial and final places."""
    pair = {contact.name_a, contact.name_b}
    others = pair - {WORKPIECE}
    return WORKPIECE in pair and others <= {*FINGERS, "table", "bin"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="seed of the planning; the same gives the same plans")
    parser.add_argument("--output", type=Path, help="folder for record and replay; a new demo_record by default")
    arguments = parser.parse_args()
    try:
        with CellClient("pick_and_place") as client:
            client.wait_until_ready()
            record = RunRecord(client, arguments.output, arguments.seed)
            job = PickAndPlace(client, record, arguments.seed)
            job.run()
            good = verdict(job, client)
            record.write()
    except RobotCellError as error:
        print(f"pick_and_place: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # the motion in progress was cancelled
        print("pick_and_place: interrupted", file=sys.stderr)
        return 130
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
