"""Kinematic and dynamic model of a cell for one attachment topology, shared by all higher layers."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from functools import cached_property
from weakref import WeakValueDictionary

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ..errors import InvalidRequestError, UnknownNameError
from ..model.cell import RobotCell
from ..model.frames import ATTACHED_TO, path_to_known
from ..model.mechanism import Variable
from ..model.name_suggestions import unknown_name
from ..model.state import RobotCellState
from ..model.unknown_joints import unknown_joint
from ..model.value import changed_items
from ..system.cache import IdentityCache
from .pinocchio_model import (
    FramePlacement,
    MechanismModel,
    append_inertial,
    attachments,
    mechanism_model,
    parent_and_pose,
)

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class CellModel:
    """Kinematic and dynamic model of a cell for given base poses and attachments. Joint values are not part of it.

    Joints: Pinocchio joints with one degree of freedom, first those of the robots, then those of the tools, each in
    tree order; a robot follows the one that it is attached to. A continuous joint is a revolute joint with infinite
    limits; planar and floating joints are sequences of elementary joints. A mimic joint is an ordinary Pinocchio joint
    that follows its variable.

    Configurations: q (n,) contains the independent variables in the order of `variables` [rad, m]; `expand` computes
    the values of all Pinocchio joints. Without mimic joints the two are the same.

    Frames: every link, tool, tool link, tool centre point, body and named frame is fixed to one joint, see `frame`.
    Hidden objects keep their frames and masses, because hiding affects collision checks only.

    A model may be shared between threads; each thread uses its own `data`.
    """

    def __init__(self, cell: RobotCell, state: RobotCellState, similar: CellModel | None = None) -> None:
        """Create a model. similar: model whose frames are used as far as they are placed as in this one."""
        self.cell = cell
        self._joint_count = len(cell.variables)
        self._state = state
        self.mechanisms: MechanismModel = mechanism_model(cell, state)
        self.variables: tuple[str, ...] = tuple(self.mechanisms.variables)
        self._frames: dict[str, FramePlacement] = dict(self.mechanisms.frames)
        self._resolved = 0  # number of frames that were looked up besides these
        self._similar = None if similar is None else similar._with_frames
        self._local = threading.local()

    @cached_property
    def model(self) -> pin.Model:
        """Pinocchio model including the masses of links, tools and all attached bodies. Must not be modified."""
        plain = self.mechanisms.pin_model
        loads = [(name, body.inertial) for name, body in self.cell.bodies.items() if body.inertial is not None]
        attached_loads = [(at, inertial) for name, inertial in loads if (at := self.frame(name)).joint != 0]
        if not attached_loads:
            return plain
        model = pin.Model(plain)
        for at, inertial in attached_loads:
            append_inertial(model, at, inertial)
        return model

    def data(self) -> pin.Data:
        """Return Pinocchio's data for `model`: one per thread, created by the first call."""
        data = getattr(self._local, "data", None)
        if data is None:
            data = self._local.data = self.model.createData()
        return data

    @property
    def size(self) -> int:
        """Number of independent variables, n."""
        return len(self.variables)

    @cached_property
    def position(self) -> dict[str, int]:
        """Index of each variable in a configuration vector."""
        return {name: index for index, name in enumerate(self.variables)}

    def variable(self, name: str) -> Variable:
        """Return a variable with its joint type and limits.

        Raises:
            UnknownNameError: The variable does not exist.
        """
        self.indices((name,))
        return self.mechanisms.variables[name]

    def indices(self, names: tuple[str, ...]) -> Indices:
        """Return the indices of variables in a configuration vector.

        Raises:
            UnknownNameError: A variable does not exist.
        """
        for name in names:
            if name not in self.position:
                raise UnknownNameError(unknown_name(f"joint {name!r}", name, self.variables), subjects=(name,))
        return np.array([self.position[name] for name in names], dtype=np.intp)

    def index(self, group: str = "") -> Indices:
        """Return the indices of a planning group's variables in a configuration vector, in the order of the group.

        Raises:
            UnknownNameError: The group does not exist.
        """
        return self.indices(self.cell.group(group).variables)

    @cached_property
    def lower(self) -> Array:
        """Lower position limits (n,), -inf if unlimited. Read-only."""
        return _read_only([v.limits.lower for v in self.mechanisms.variables.values()])

    @cached_property
    def upper(self) -> Array:
        """Upper position limits (n,), inf if unlimited. Read-only."""
        return _read_only([v.limits.upper for v in self.mechanisms.variables.values()])

    @cached_property
    def expansion(self) -> tuple[Array, Array] | None:
        """(A, b) with joint values (nv,) = A (nv, n) @ q (n,) + b (nv,), or None without mimic joints. Read-only."""
        couplings = self.mechanisms.couplings
        if [coupling.variable for coupling in couplings] == list(self.variables):
            return None
        matrix = np.zeros((len(couplings), self.size))
        for row, coupling in enumerate(couplings):
            matrix[row, self.position[coupling.variable]] = coupling.multiplier
        matrix.flags.writeable = False
        return matrix, _read_only([coupling.offset for coupling in couplings])

    def expand(self, q: Array) -> Array:
        """Compute the values of all Pinocchio joints (..., nv) for configurations (..., n)."""
        if self.expansion is None:
            return q
        matrix, offset = self.expansion
        return np.asarray(q @ matrix.T + offset)

    def expand_rate(self, v: Array) -> Array:
        """Compute velocities or accelerations of Pinocchio joints (..., nv) from those of the variables (..., n)."""
        return v if self.expansion is None else np.asarray(v @ self.expansion[0].T)

    def configuration(self, state: RobotCellState) -> Array:
        """Return the configuration (n,) of a state: robot variables, then tool variables.

        Raises:
            InvalidRequestError: A variable is missing in the state.
        """
        return self.values(state, self.variables)

    def values(self, state: RobotCellState, names: tuple[str, ...]) -> Array:
        """Return the values (k,) of the given variables in a state.

        Raises:
            UnknownNameError: A variable does not exist, or the state has more values than the cell has joints.
            InvalidRequestError: A variable is missing in the state.
        """
        configuration = state.configuration
        if len(configuration) > self._joint_count:  # a misspelt name in addition to all others, cheaply found
            unknown = next(name for name in configuration if name not in self.cell.variables)
            raise unknown_joint(self.cell, unknown, self.cell.variables)
        try:
            return np.array(list(map(configuration.__getitem__, names)))
        except KeyError:
            return np.array([self._value(state, name) for name in names])

    def _value(self, state: RobotCellState, name: str) -> float:
        tool, _, joint = name.partition("/")
        values = state.configuration
        if name not in values and tool in state.tools:
            name, values = joint, state.tools[tool].configuration
        if name not in values:
            self.indices((name,))
            raise InvalidRequestError(f"the state has no value of joint {name}", subjects=(name,))
        return values[name]

    def with_configuration(self, state: RobotCellState, q: Array) -> RobotCellState:
        """Return the state with all joint values replaced by a configuration (n,)."""
        given = dict(zip(self.variables, (float(value) for value in q), strict=True))
        state = state.with_configuration({name: given[name] for name in state.configuration})
        for name, tool in state.tools.items():
            if tool.configuration:
                values = {joint: given[f"{name}/{joint}"] for joint in tool.configuration}
                state = state.with_tool(name, tool.with_configuration(values))
        return state

    def frame(self, name: str) -> FramePlacement:
        """Return the joint that a frame is fixed to and its placement in that joint; joint 0 is the world.

        Raises:
            UnknownNameError: The frame does not exist.
            FrameCycleError: The attachments form a cycle.
        """
        found = self._frames.get(name)
        return self._resolve(name) if found is None else found

    @property
    def _with_frames(self) -> CellModel | None:
        """The model whose frames similar ones use: this one, unless it knows few."""
        return self if self._resolved >= FEW_FRAMES else self._similar

    def _frames_shared_with(self, other: CellModel) -> dict[str, FramePlacement] | None:
        """Return the known frames that are placed alike in another model, of the same cell or of one with other bodies;
        None if too few are."""
        if other.cell.frames != self.cell.frames or other.mechanisms is not self.mechanisms:
            return None
        changed = changed_items(self._state.bodies, other._state.bodies)
        if len(changed) > MAX_CHANGED or moved_frames(self.cell, other._state, changed) is None:
            return None
        moved = moved_frames(self.cell, self._state, changed)
        if moved is None:
            return None
        shared = self._frames.copy()
        for name in moved:
            shared.pop(name, None)
        return shared

    def _resolve(self, name: str) -> FramePlacement:
        self._resolved += 1
        if self._resolved >= FEW_FRAMES and self._similar is not None:
            # Not before: a list of changes makes a model for each, of which few frames are needed.
            self._frames |= self._similar._frames_shared_with(self) or {}
            self._similar = None
            if name in self._frames:
                return self._frames[name]
        cell, state = self.cell, self._state
        path, frame = path_to_known(name, self._frames, lambda frame: parent_and_pose(cell, state, frame)[0])
        at = self._frames[frame]
        for attached in reversed(path):
            pose = parent_and_pose(cell, state, attached)[1]
            at = self._frames[attached] = FramePlacement(at.joint, at.placement * pin.SE3(pose.matrix))
        return at

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames: world, links, tools, tool links, tool centre points, bodies, named frames."""
        return (*self.mechanisms.frames, *self._state.bodies, *self.cell.frames)

    @property
    def frames(self) -> Mapping[str, FramePlacement]:
        """Placements of all frames, by name."""
        return {name: self.frame(name) for name in self.frame_names}


def moved_frames(cell: RobotCell, state: RobotCellState, bodies: Collection[str]) -> set[str] | None:
    """Return the frames that move with some bodies: theirs, and named frames that are attached to them. None if another
    body or a robot is attached to one of these."""
    moved = set(bodies)
    if not moved:
        return moved
    parents = {name: frame.attached_to for name, frame in cell.frames.items()}
    while more := {name for name, parent in parents.items() if parent in moved} - moved:
        moved |= more
    carriers = set(map(ATTACHED_TO, state.bodies.values()))
    carriers |= {robot.attached_to for robot in cell.robots.values()}
    return moved if carriers.isdisjoint(moved) else None


_models: IdentityCache[CellModel] = IdentityCache(size=64)
# Models in use, so that states with the same attachments share one as long as `_models` retains it for any of them. A
# model refers to the objects of its key, so their ids belong to no other objects while it exists.
_by_attachments: WeakValueDictionary[tuple[object, ...], CellModel] = WeakValueDictionary()
_latest: list[CellModel | None] = [None]  # the next one usually differs in few bodies
FEW_FRAMES = 16  # number of frames from which on they are shared with the next model
MAX_CHANGED = 64  # number of changed bodies from which on no frames are shared


def cell_model(cell: RobotCell, state: RobotCellState) -> CellModel:
    """Return the model of a cell for the attachments of a state, from a cache. States that differ only in joint values
    share it."""
    objects = (cell, state.base_poses, state.tools, state.bodies)
    return _models.get(objects, (), lambda: _model_of_attachments(cell, state))


def _model_of_attachments(cell: RobotCell, state: RobotCellState) -> CellModel:
    """As `cell_model`, for a state with different tool objects, which may differ only in joint values."""
    key = (id(cell), id(state.base_poses), id(state.bodies), *attachments(state))
    found = _by_attachments.get(key)
    if found is None:
        found = _by_attachments[key] = _latest[0] = CellModel(cell, state, _latest[0])
    return found


def _read_only(values: list[float]) -> Array:
    result = np.array(values, dtype=np.float64)
    result.flags.writeable = False
    return result
