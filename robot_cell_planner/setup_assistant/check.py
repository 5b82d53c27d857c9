"""Check of a cell: what is wrong, missing or a draft, each finding with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

from ..collision.checker import CollisionChecker
from ..collision.state_warnings import enclosure_warnings, overlap_warnings
from ..errors import InverseKinematicsError, RobotCellError
from ..io.robot_description.meshes import UNCHECKED
from ..io.robot_description.soft_limits import NARROWED
from ..kinematics.effort_limits import weak_joints
from ..kinematics.ik.options import IkOptions
from ..kinematics.ik.solver import inverse_kinematics
from ..kinematics.targets import FrameTarget, TargetMode
from ..model.arguments import public
from ..model.bodies import Tool
from ..model.cell import RobotCell
from ..model.cell_warnings import assumed_limits, links_without_collision_shapes, massless_links, unchecked_text
from ..model.frames import FrameTree
from ..model.mechanism import Link
from ..model.name_suggestions import listed
from ..model.pose import IDENTITY
from ..model.robot import GROUPS_REMEDY, STILL_REMEDY, Robot
from ..model.sources import ModelSources
from ..model.start_limits import states_beyond_limits
from ..model.state import RobotCellState
from .check_hulls import remedy_of_collision
from .check_meshes import size_findings, surface_findings
from .check_objects import distance_findings, touch_findings
from .check_states import named_state_findings
from .check_units import unit_findings
from .finding import DRAFT, ERROR, UNITS, WARNING, Finding, in_order
from .followers import follower_findings
from .mesh_sizes import odd_meshes

MAX_FRAMES = 100  # whose reachability is checked
MAX_MASS = 1e4  # [kg] of a link; more indicates wrong units
MIN_MASS = 1e-5  # [kg] of a link with shapes


@public
def check_cell(cell: RobotCell, state: RobotCellState) -> tuple[Finding, ...]:
    """Check the start state, named states, limits, meshes, masses, SRDF, groups, named frames, touch lists and
    positions of a cell.

    Findings are in this order: numbers in other units, which explain others, errors, warnings, drafts.
    """
    models: list[Robot | Tool] = [*cell.robots.values(), *cell.tools.values()]
    found = [
        *_state(cell, state),
        *(finding for robot in cell.robots.values() for finding in _robot(cell, state, robot)),
        *(finding for model in models for finding in _model(model)),
        *_efforts(cell, state),
        *_frames(cell, state),
        *distance_findings(cell, state),
        *touch_findings(cell, state),
        *unit_findings(cell),
        *surface_findings(cell),
        *size_findings(cell),
    ]
    return in_order(found)


def _state(cell: RobotCell, state: RobotCellState) -> Iterator[Finding]:
    try:
        if texts := overlap_warnings(cell, state):
            remedy = "Change `state`, or allow the pair (touch_links, ignore_groups, disable_collisions)."
            remedy = remedy_of_collision(cell, state, {}, CollisionChecker(cell, state).report(), remedy)
            yield from (Finding(ERROR, "state", text, remedy) for text in texts)
        for text in enclosure_warnings(cell, state):
            yield Finding(WARNING, "meshes", text, "Correct size, pose or use of the mesh.")
    except RobotCellError as error:
        yield Finding(ERROR, "meshes", f"collisions cannot be checked: {error}", "Mend or replace the mesh.")
    for text in states_beyond_limits(cell, state):
        yield Finding(ERROR, "state", text, "Move the value inside the limits.")


def _robot(cell: RobotCell, state: RobotCellState, robot: Robot) -> Iterator[Finding]:
    name = f"robot {robot.name}"
    if not robot.mechanism.variables:
        text = f"{name} has no movable joint, so that nothing can be planned for it"
        yield Finding(ERROR, "groups", text, STILL_REMEDY)
    elif not robot.groups:
        yield Finding(ERROR, "groups", f"{name} has no planning group", GROUPS_REMEDY)
    elif not any(group.tip_link and group.variables for group in robot.groups.values()):
        text = f"{name} has no group that is a chain with joints, so nothing can be moved to a pose"
        yield Finding(WARNING, "groups", text, "Define a group by <chain base_link tip_link>.")
    for group in robot.groups.values():
        if not group.variables and not group.links:
            text = f"group {group.name} of {name} is empty, so that nothing can be planned for it"
            yield Finding(WARNING, "groups", text, "Give it a <chain>, <joint> or <link> in the SRDF, or delete it.")
    checked = sum(bool(link.collisions) for link in robot.mechanism.links.values())
    if robot.groups and not robot.disabled_pairs and checked > 2:
        text = f"the SRDF of {name} disables no pair, so neighbouring links collide where they touch"
        yield Finding(WARNING, "srdf", text, "`robot_cell new` finds the pairs that need no check.")
    doubtful = [pair for pair in robot.disabled_pairs if pair.reason == "Default"]
    if doubtful:
        names = listed([f"{pair.first} and {pair.second}" for pair in doubtful])
        text = f"pairs of {name} that are disabled because they overlap in its default state: {names}"
        yield Finding(DRAFT, "srdf", text, "Check whether they can collide; the report.md of a draft says more.")
    for variable in robot.mechanism.variables:
        if variable.limits.lower == variable.limits.upper:
            text = f"joint {variable.name} of {name} has the same lower and upper limit, {variable.limits.lower:g}"
            yield Finding(WARNING, "limits", text, "Enter its range in the URDF, or make it fixed.")
    yield from named_state_findings(cell, state, robot)


def _model(model: Robot | Tool) -> Iterator[Finding]:
    name = f"{'robot' if isinstance(model, Robot) else 'tool'} {model.name}"
    mechanism = model.mechanism
    for text in model.sources.warnings:
        kind = _topic(text, model.sources)
        yield Finding(WARNING, kind, f"{name}: {text}", _remedy_of_source(text))
    yield from follower_findings(mechanism, name)
    if unchecked := links_without_collision_shapes(mechanism):
        remedy = "Add <collision> elements to them; plans are not checked for these links."
        yield Finding(WARNING, "meshes", f"{name}: {unchecked_text(unchecked)}", remedy)
    if odd_sizes := odd_meshes(mechanism):
        text = f"{name}: sizes of meshes that cannot be right: {listed(odd_sizes)}"
        remedy = 'Check the unit: <mesh scale="0.001 0.001 0.001"> is for millimetres, and is needed once.'
        yield Finding(WARNING, UNITS, text, remedy)
    if massless := massless_links(mechanism):
        text = f"{name}: moving links without mass: {listed(massless)}"
        yield Finding(WARNING, "masses", text, "Add <inertial> elements; dynamics and simulation need them.")
    if odd := [f"{link.name} {mass:g} kg" for link in mechanism.links.values() if (mass := _odd_mass(link))]:
        text = f"{name}: masses that cannot be right: {listed(odd)}"
        yield Finding(WARNING, UNITS, text, "Write masses in kg.")
    if assumed := assumed_limits(mechanism, [variable.name for variable in mechanism.variables]):
        remedy = "Enter the maker's values in the limits file and delete their names from `assumed`."
        yield Finding(DRAFT, "limits", f"{name}: {assumed}", remedy)


def _odd_mass(link: Link) -> float:
    """Return the mass of a link [kg] if it is probably in another unit, else 0. Links without shapes may have hardly
    any, because some simulators need masses of frames, too."""
    mass = 0.0 if link.inertial is None else link.inertial.mass
    light = mass < MIN_MASS and bool(link.collisions or link.visuals)
    return mass if light or mass > MAX_MASS else 0.0


def _remedy_of_source(text: str) -> str:
    """Return the remedy of a warning about the sources of a model."""
    if NARROWED in text:
        return "Position limits in the limits file replace them."
    if UNCHECKED in text:
        return (
            "Give the link a mesh that can be read or a simple shape; until then, it can pass through anything there."
        )
    return "Mend the file."


def _topic(text: str, sources: ModelSources) -> str:
    """Return the topic of a warning about the sources of a model, which begins with the name of one of them."""
    if NARROWED in text:
        return "limits"
    if sources.srdf_uri and text.startswith(sources.srdf_uri):
        return "srdf"
    for uri in (sources.urdf_uri, sources.folder):  # their names can contain the word
        text = text.replace(uri, "") if uri else text
    return "meshes" if "mesh" in text else "description"


def _efforts(cell: RobotCell, state: RobotCellState) -> Iterator[Finding]:
    """Find joints whose effort limits do not hold the masses that they move."""
    if weak := weak_joints(cell, state):
        text = f"effort limits do not hold the masses against gravity: {listed([str(joint) for joint in weak])}"
        remedy = "Check masses and effort limits; simulated motors hold their robot nevertheless, but sag under tools."
        yield Finding(WARNING, "limits", text, remedy)


def _frames(cell: RobotCell, state: RobotCellState) -> Iterator[Finding]:
    """Check that a group reaches each named frame that does not move with a robot or tool."""
    tree = FrameTree(cell, state)
    groups = [
        group.name
        for robot in cell.robots.values()
        for group in robot.groups.values()
        if group.tip_link and len(group.variables) >= 3
    ]
    fixed = [name for name in cell.frames if not tree.is_moving(name)][:MAX_FRAMES]
    for frame in fixed if groups else ():
        reasons = []
        for group in groups:
            mode = TargetMode.TOOL if cell.tool_of_group(state, group) else TargetMode.ROBOT
            try:
                target = FrameTarget(pose=IDENTITY, mode=mode, reference_frame=frame)
                inverse_kinematics(cell, state, target, group, IkOptions(max_solutions=1))
                break
            except InverseKinematicsError as error:
                reasons.append(f"{group}: {error.message}")
        else:
            text = f"no group reaches frame {frame} with its tip or tool centre point ({'; '.join(reasons[:2])})"
            yield Finding(WARNING, "frames", text, "Move the frame or the robot, unless it is meant for a workpiece.")
