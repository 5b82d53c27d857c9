"""Both arms to a hand-over, robot by robot, coupled, and one after the other: `make bench AREA=hand_over_tasks`.

In each of 200 tasks of config/two_arms, the left arm holds the bar somewhere over its side of the table and the right
arm is anywhere over its own; the left arm brings the bar to a random place above the middle of the table, and the right
arm moves to a pose above its grasp there. All methods get the same start and the same joint goal. One after the other:
the left arm and then the right one, or the other way around, the shorter that succeeds. All motions are sampled every
millisecond, with both arms in exact collision checks. Times of planning are of the processor.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from math import pi
from time import process_time

import numpy as np

from robot_cell_planner import (
    IDENTITY,
    Attach,
    CollisionChecker,
    Coordination,
    FrameTarget,
    Goals,
    MotionRequest,
    PlanningOptions,
    Pose,
    RobotCell,
    RobotCellState,
    Scene,
    SetJoints,
    SetTouch,
    TargetMode,
    Trajectory,
    apply_changes,
    composite_inverse_kinematics,
    inverse_kinematics,
    load_cell,
    plan_motion,
    world_pose,
)
from robot_cell_planner.errors import PlanningError, RobotCellError

from .results import FOLDER, Results

CELL_FILE = FOLDER.parents[1] / "config" / "two_arms" / "cell.yaml"
LEFT, RIGHT, BOTH = "left/manipulator", "right/manipulator", "both"
FINGERS = ("left_gripper/left_finger", "left_gripper/right_finger")
METHODS = {"coupled": Coordination.COUPLED, "prioritised": Coordination.PRIORITISED, "fastest": Coordination.FASTEST}
IN_TURN = "in turn"
SAMPLING = 0.001  # [s]
LIMIT = 300_000  # [states]
TRIES = 1000


@dataclass(frozen=True)
class Task:
    """A state in which the left arm holds the bar, and joint values of both arms to reach."""

    cell: RobotCell
    state: RobotCellState
    goal: dict[str, float]


@dataclass
class Figures:
    """Figures of a method: planning times [s], makespans [s] by task, colliding plans at SAMPLING, certified plans."""

    times: list[float] = field(default_factory=list)
    spans: dict[int, float] = field(default_factory=dict)
    colliding: int = 0
    proven: int = 0
    fallbacks: int = 0


def random_task(scene: Scene, generator: np.random.Generator) -> Task:
    """Return a task whose start and goal are free."""
    cell, uniform = scene.cell, generator.uniform
    checker = CollisionChecker(cell, scene.state, cell.group(BOTH).variables)

    def free(state: RobotCellState) -> bool:
        return not checker.in_collision(np.array([state.configuration[name] for name in checker.variables]))

    def tool(side: str) -> FrameTarget:
        sign = -1.0 if side == "left" else 1.0
        place = (sign * uniform(0.15, 0.45), uniform(-0.55, 0.55), uniform(0.85, 1.3))
        pose = Pose.from_rpy(place, (pi, 0.0, uniform(-pi, pi)))
        return FrameTarget(pose=pose, mode=TargetMode.TOOL)

    for _ in range(TRIES):
        exchange = Pose.from_rpy(
            (uniform(-0.1, 0.1), uniform(-0.4, 0.4), uniform(0.85, 1.15)), (0.0, 0.0, uniform(-0.6, 0.6))
        )
        meeting = {
            LEFT: FrameTarget(pose=exchange, mode=TargetMode.WORKPIECE),
            RIGHT: FrameTarget(pose=IDENTITY, mode=TargetMode.TOOL, reference_frame="above_right_grasp"),
        }
        try:
            state = scene.state
            for group, side in ((LEFT, "left"), (RIGHT, "right")):
                found = inverse_kinematics(cell, state, tool(side), group)
                values = dict(zip(cell.group(group).variables, found.best.tolist(), strict=True))
                state = state.with_configuration(values)
            best = composite_inverse_kinematics(cell, state, meeting, BOTH).best
        except RobotCellError:
            continue
        goal = dict(zip(cell.group(BOTH).variables, best.tolist(), strict=True))
        if free(state) and free(state.with_configuration(goal)):
            return Task(cell, state, goal)
    raise RuntimeError(f"no task in {TRIES} tries")


def planned(task: Task, state: RobotCellState, group: str, options: PlanningOptions) -> tuple[Trajectory, float, bool]:
    """Return a trajectory, its certified fraction, and whether the plan fell back to coupled planning."""
    goal = {name: task.goal[name] for name in task.cell.group(group).variables}
    plan = plan_motion(task.cell, state, MotionRequest(Goals((goal,)), group, options=options))
    assert plan.trajectory is not None
    fell_back = options.coordination is Coordination.PRIORITISED and plan.planner != "Prioritised"
    return plan.trajectory, plan.certified_fraction, fell_back


def in_turn(task: Task, options: PlanningOptions) -> list[Trajectory] | None:
    """Return the trajectories of one arm after the other, in the order that ends first; None if there is none."""
    found: list[list[Trajectory]] = []
    for order in ((LEFT, RIGHT), (RIGHT, LEFT)):
        state, trajectories = task.state, []
        try:
            for group in order:
                trajectory, _, _ = planned(task, state, group, options)
                trajectories.append(trajectory)
                state = state.with_configuration(
                    dict(zip(trajectory.variables, trajectory.positions[-1].tolist(), strict=True))
                )
        except PlanningError:
            continue
        found.append(trajectories)
    return min(found, key=lambda parts: sum(part.duration for part in parts), default=None)


def collides(task: Task, trajectory: Trajectory) -> bool:
    checker = CollisionChecker(task.cell, task.state, trajectory.variables)
    return bool(checker.in_collision_batch(trajectory.at(np.arange(0.0, trajectory.duration, SAMPLING))).any())


def main(tasks: int = 200, seed: int = 1) -> None:
    cell, home = load_cell(CELL_FILE)
    grip = Attach("bar", "left_gripper/tcp", pose=Pose.from_rpy((0.1, 0.0, 0.0), (pi, 0.0, 0.0)), touch_links=FINGERS)
    changes = (grip, SetTouch("bar", touch_bodies=()), SetJoints({"left_gripper/finger_joint": 0.025}))
    scene = apply_changes(Scene(cell, home), changes, world_pose)
    generator = np.random.default_rng(seed)
    found = {name: Figures() for name in (*METHODS, IN_TURN)}
    for number in range(tasks):
        task = random_task(scene, generator)
        options = PlanningOptions(seed=number, state_limit=LIMIT)
        for name, coordination in METHODS.items():
            figures, began = found[name], process_time()
            try:
                trajectory, proven, fell_back = planned(
                    task, task.state, BOTH, replace(options, coordination=coordination)
                )
            except PlanningError as error:
                print(f"task {number}, {name}: {error}", flush=True)
                continue
            figures.times.append(process_time() - began)
            figures.spans[number] = trajectory.duration
            figures.proven += proven == 1.0
            figures.fallbacks += fell_back
            figures.colliding += collides(task, trajectory)
        began = process_time()
        parts = in_turn(task, options)
        if parts is not None:
            found[IN_TURN].times.append(process_time() - began)
            found[IN_TURN].spans[number] = sum(part.duration for part in parts)
        if (number + 1) % 10 == 0:
            print(f"{number + 1} tasks", flush=True)
    report(found, tasks, seed)


def report(found: dict[str, Figures], tasks: int, seed: int) -> None:
    results = Results("hand_over_tasks", seed)
    results.add("tasks", tasks)
    base = found[IN_TURN].spans
    for name, figures in found.items():
        results.add(f"{name}.solved", len(figures.spans))
        results.add(f"{name}.planning, median, ms", 1e3 * float(np.median(figures.times)))
        results.add(f"{name}.makespan, median, s", float(np.median(list(figures.spans.values()))))
        if name == IN_TURN:
            continue
        results.add(f"{name}.proven", figures.proven)
        results.add(f"{name}.colliding at 1 ms", figures.colliding)
        if name == "prioritised":
            results.add(f"{name}.planned coupled instead", figures.fallbacks)
        shared = [task for task in figures.spans if task in base]
        ratios = [figures.spans[task] / base[task] for task in shared]
        results.add(f"{name}.shorter than in turn, median, percent", 100.0 * (1.0 - float(np.median(ratios))))
        whole = sum(figures.spans[task] for task in shared) / sum(base[task] for task in shared)
        results.add(f"{name}.shorter than in turn, all together, percent", 100.0 * (1.0 - whole))
    results.finish()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
