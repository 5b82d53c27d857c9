"""Outcome of a simulated motion: lag of the joints, contacts, and lost objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frozendict import frozendict

from ..collision.checker import CollisionChecker
from ..collision.engines.base import TOUCHING
from ..collision.pairs.allowed_pairs import AllowedPairs, CheckedPair
from ..errors import (
    ExecutionError,
    GoalToleranceError,
    InvalidRequestError,
    TrajectoryStartError,
    UnknownNameError,
    Value,
)
from ..kinematics.transforms import world_pose
from ..model.cell import RobotCell
from ..model.name_suggestions import unknown_name
from ..model.state import RobotCellState
from ..planning.path.simplification import densify
from ..planning.problem.plan import Plan, check_alone
from ..simulation.contacts import ContactRecord
from ..trajectory.validation import START_TOLERANCE

if TYPE_CHECKING:
    from ..simulation.simulated_cell import SimulatedCell

STAGE = "simulation"
MAX_DURATION = 3600.0  # [s] of a command
GOAL_TOLERANCE = 0.02  # [rad or m] of each joint at the end of a motion
# Gap and depth of links [m] that the physics, with its margins and elastic joints, does not resolve.
PHYSICS_GAP, PHYSICS_DEPTH = 2e-4, 2e-4
STEP = 0.05  # [rad or m] between states of the plan at which a gap is looked for
TOUCH_DEPTH = 1e-4  # [m] up to which surfaces that touch without force are not in contact
PART_TOLERANCE = 0.01  # [m] of an attached body at the end of a motion


def whole_periods(duration: float, period: float) -> int:
    """Return the number of periods [s] of a command that lasts for a duration [s], at least one.

    Raises:
        InvalidRequestError: The duration is not above zero, or longer than MAX_DURATION.
    """
    if not 0.0 < duration <= MAX_DURATION:
        text = f"duration is {duration:g} s, expected more than 0 and at most {MAX_DURATION:g} s"
        raise InvalidRequestError(text, stage=STAGE, values=(Value("duration", duration, MAX_DURATION, "s"),))
    return max(round(duration / period), 1)


@dataclass(frozen=True)
class ExecutedMotion:
    """Result of a simulated motion.

    Attributes:
        plan: Plan that was executed.
        lag: Max distance of a joint behind its command, by joint [rad or m].
        end_errors: Distance of each joint from the plan's last waypoint at the end [rad or m].
        contacts: Contacts during the motion of pairs that the collision rules do not allow to touch, except for those
            without force up to a depth of 0.1 mm.
        part_errors: Distance of each body that the robot carries from its planned place at the end [m].
        near_contacts: Contacts of links of one robot that the plan keeps apart, but by less than the physics resolves.
        units: Unit of the values of each joint.
    """

    plan: Plan
    lag: Mapping[str, float]
    end_errors: Mapping[str, float]
    contacts: tuple[ContactRecord, ...]
    part_errors: Mapping[str, float]
    near_contacts: tuple[ContactRecord, ...] = ()
    units: Mapping[str, str] = field(default_factory=frozendict)

    @property
    def missed(self) -> dict[str, float]:
        """Distance from the goal of each joint that did not reach it [rad or m]."""
        return {name: error for name, error in self.end_errors.items() if error > GOAL_TOLERANCE}

    def check(self) -> None:
        """Raise an error unless the motion was executed as planned.

        Raises:
            ExecutionError: Objects touched that may not, or a carried body is not where it was planned to be.
            GoalToleranceError: A joint did not reach its goal.
        """
        if self.contacts:
            pairs = tuple(f"{record.first} - {record.second}" for record in self.contacts)
            force = Value("force", max(record.max_force for record in self.contacts), unit="N")
            text = f"{', '.join(pairs)} touched during the motion"
            raise ExecutionError(text, stage=STAGE, subjects=pairs, values=(force,), partial=self)
        missed = self.missed
        if missed:
            values = tuple(
                Value(name, error, GOAL_TOLERANCE, self.units.get(name, "")) for name, error in missed.items()
            )
            text = f"joint {', '.join(missed)} did not reach the goal"
            raise GoalToleranceError(text, stage=STAGE, subjects=tuple(missed), values=values, partial=self)
        lost = {name: error for name, error in self.part_errors.items() if error > PART_TOLERANCE}
        if lost:
            values = tuple(Value(name, error, PART_TOLERANCE, "m") for name, error in lost.items())
            text = f"{', '.join(lost)} slipped or was lost during the motion"
            raise ExecutionError(text, stage=STAGE, subjects=tuple(lost), values=values, partial=self)


def check_start(name: str, plan: Plan, cell: RobotCell, state: RobotCellState) -> None:
    """Check that a plan starts at a state, and needs no motion of another robot.

    Raises:
        InvalidRequestError: As `check_alone`.
        UnknownNameError: The state has no such joint: the plan is for another cell.
        TrajectoryStartError: A joint is further away than START_TOLERANCE.
    """
    check_alone(plan, name)
    for joint, position in zip(plan.variables, plan.path[0].tolist(), strict=True):
        if joint not in state.configuration:
            text = f"{name}: {unknown_name(f'joint {joint!r} of the plan', joint, state.configuration)}"
            raise UnknownNameError(text, stage=STAGE, subjects=(joint,))
        away = abs(position - state.configuration[joint])
        if away > START_TOLERANCE:
            unit = cell.variables[joint].unit
            text = f"{name}: the plan starts {away:.4g} {unit} away from the present position of {joint}"
            values = (Value(f"distance of {joint}", away, START_TOLERANCE, unit),)
            raise TrajectoryStartError(text, stage=STAGE, subjects=(joint,), values=values)


def executed_motion(
    cell: RobotCell,
    planned: RobotCellState,
    plan: Plan,
    simulation: SimulatedCell,
    lag: Mapping[str, float],
    start: float,
) -> ExecutedMotion:
    """Compare a motion of the simulation, which is at its end, with its plan.

    Args:
        cell: Models of the cell.
        planned: State at the end of the plan.
        plan: The plan.
        simulation: Simulation that has executed the plan.
        lag: As in `ExecutedMotion`.
        start: Time of the simulation at which the motion began [s].
    """
    reached = simulation.state()
    errors = {name: abs(reached.configuration[name] - value) for name, value in plan.end_configuration().items()}
    rules = AllowedPairs(cell, planned)
    forbidden = tuple(c for c in simulation.contact_log if c.end > start and _is_checked(rules, c))
    parts = {
        name: world_pose(cell, planned, name).distance_to(simulation.body_pose(name))[0]
        for name in _attached(cell, planned)
        if name in reached.bodies
    }
    near = _near_contacts(cell, planned, plan, forbidden) if forbidden else ()
    contacts = tuple(contact for contact in forbidden if contact not in near)
    units = frozendict({name: cell.variables[name].unit for name in plan.variables})
    return ExecutedMotion(plan, frozendict(lag), frozendict(errors), contacts, frozendict(parts), near, units)


def _near_contacts(
    cell: RobotCell, planned: RobotCellState, plan: Plan, contacts: Sequence[ContactRecord]
) -> tuple[ContactRecord, ...]:
    """Return the contacts of links of one robot that the plan keeps apart by less than `PHYSICS_GAP`.

    Phalanges of a hand, for example, are hundredths of a millimetre apart in their description.
    """
    robot_of = {link: robot.name for robot in cell.robots.values() for link in robot.mechanism.links}
    checker = CollisionChecker(cell, planned, plan.variables)
    states = densify(plan.path, STEP)[0] if len(plan.path) > 1 else plan.path

    def is_near(contact: ContactRecord) -> bool:
        robot = robot_of.get(contact.first)
        if robot is None or robot_of.get(contact.second) != robot or contact.max_depth > PHYSICS_DEPTH:
            return False
        found = checker.search_of_pair(contact.first, contact.second).closest_of(states, PHYSICS_GAP)
        return found is not None and found[1].distance >= -TOUCHING

    return tuple(filter(is_near, contacts))


def _is_checked(rules: AllowedPairs, contact: ContactRecord) -> bool:
    if contact.max_force <= 0.0 and contact.max_depth <= TOUCH_DEPTH:
        return False
    pair = (contact.first, contact.second)
    return all(name in rules.by_name for name in pair) and isinstance(rules.pair(*pair), CheckedPair)


def _attached(cell: RobotCell, state: RobotCellState) -> list[str]:
    """Return the bodies that are attached to tools of the robot."""
    tools = [name for name, tool in state.tools.items() if tool.attached_to]
    return [body for tool in tools for body in cell.workpieces_of_tool(state, tool)]
