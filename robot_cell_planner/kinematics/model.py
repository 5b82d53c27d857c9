"""The kinematic and dynamic model of a whole cell in one arrangement, shared by all layers above."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ..errors import FrameCycleError, InvalidRequestError, UnknownNameError
from ..model.cache import IdentityCache
from ..model.cell import RobotCell
from ..model.mechanism import Variable
from ..model.name_suggestions import unknown_name
from ..model.state import RobotCellState
from ..model.value import WORLD
from .pinocchio_model import FramePlacement, MechanismModel, append_inertial, attachments, mechanism_model

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class CellModel:
    """A cell in one arrangement: base poses, what is attached to what, and where. Joint values are no part of it.

    Joints: Pinocchio joints of one degree of freedom, those of the robots first, then those of the tools, each in tree
    order. A continuous joint is a plain revolute one with infinite limits; planar and floating joints are several
    elementary ones in a row. A mimicking joint is an ordinary Pinocchio joint that follows its variable.

    Configurations: q (n,) holds the independent variables, in the order of `variables`, in rad and m; `expand` turns it
    into the values of all Pinocchio joints. Without mimicking joints both are the same.

    Frames: every link, tool, tool link, tool centre point, body and named frame is fixed in one joint, see `frame`.
    Hidden things keep their frames and their masses: hiding is about collisions.

    One model serves many threads; each takes a `data` of its own.
    """

    def __init__(self, cell: RobotCell, state: RobotCellState) -> None:
        self.cell = cell
        self._state = state
        self.mechanisms: MechanismModel = mechanism_model(cell, state)
        self.variables: tuple[str, ...] = tuple(self.mechanisms.variables)
        self._frames: dict[str, FramePlacement] = dict(self.mechanisms.frames)
        self._local = threading.local()

    @cached_property
    def model(self) -> pin.Model:
        """The Pinocchio model with the masses of links, tools and all bodies that joints carry. Not to be changed."""
        plain = self.mechanisms.pin_model
        carried = [(name, body.inertial) for name, body in self.cell.bodies.items() if body.inertial is not None]
        loads = [(at, inertial) for name, inertial in carried if (at := self.frame(name)).joint != 0]
        if not loads:
            return plain
        model = pin.Model(plain)
        for at, inertial in loads:
            append_inertial(model, at, inertial)
        return model

    def data(self) -> pin.Data:
        """Pinocchio's work space for `model`: one for each thread, made at its first call."""
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
        """Kind and limits of a variable.

        Raises:
            UnknownNameError: there is no such variable.
        """
        self.indices((name,))
        return self.mechanisms.variables[name]

    def indices(self, names: tuple[str, ...]) -> Indices:
        """Where variables stand in a configuration vector.

        Raises:
            UnknownNameError: one of them does not exist.
        """
        for name in names:
            if name not in self.position:
                raise UnknownNameError(unknown_name(f"joint {name!r}", name, self.variables), subjects=(name,))
        return np.array([self.position[name] for name in names], dtype=np.intp)

    def index(self, group: str = "") -> Indices:
        """Where the variables of a planning group stand in a configuration vector, in the order of the group.

        Raises:
            UnknownNameError: there is no such group.
        """
        return self.indices(self.cell.group(group).variables)

    @cached_property
    def lower(self) -> Array:
        """Lower position limits (n,), -inf where there is none. Read only."""
        return _read_only([v.limits.lower for v in self.mechanisms.variables.values()])

    @cached_property
    def upper(self) -> Array:
        """Upper position limits (n,), inf where there is none. Read only."""
        return _read_only([v.limits.upper for v in self.mechanisms.variables.values()])

    @cached_property
    def expansion(self) -> tuple[Array, Array] | None:
        """(A, b): all joints (nv,) = A (nv, n) @ q (n,) + b (nv,); None where both are the same. Read only."""
        drives = self.mechanisms.drives
        if [drive.variable for drive in drives] == list(self.variables):
            return None
        matrix = np.zeros((len(drives), self.size))
        for row, drive in enumerate(drives):
            matrix[row, self.position[drive.variable]] = drive.multiplier
        matrix.flags.writeable = False
        return matrix, _read_only([drive.offset for drive in drives])

    def expand(self, q: Array) -> Array:
        """Values of all Pinocchio joints (..., nv) for configurations (..., n)."""
        if self.expansion is None:
            return q
        matrix, offset = self.expansion
        return np.asarray(q @ matrix.T + offset)

    def expand_rate(self, v: Array) -> Array:
        """Velocities or accelerations of all Pinocchio joints (..., nv) for those of the variables (..., n)."""
        return v if self.expansion is None else np.asarray(v @ self.expansion[0].T)

    def configuration(self, state: RobotCellState) -> Array:
        """The configuration (n,) of a state: robots' variables, then tools'.

        Raises:
            InvalidRequestError: the state lacks a variable.
        """
        return self.values(state, self.variables)

    def values(self, state: RobotCellState, names: tuple[str, ...]) -> Array:
        """Values (k,) of some variables in a state.

        Raises:
            UnknownNameError: there is no such variable.
            InvalidRequestError: the state lacks one.
        """
        configuration = state.configuration
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
        """The state with all joint values replaced by a configuration (n,)."""
        given = dict(zip(self.variables, (float(value) for value in q), strict=True))
        state = state.with_configuration({name: given[name] for name in state.configuration})
        for name, tool in state.tools.items():
            if tool.configuration:
                values = {joint: given[f"{name}/{joint}"] for joint in tool.configuration}
                state = state.with_tool(name, tool.with_configuration(values))
        return state

    def frame(self, name: str) -> FramePlacement:
        """The joint that carries a frame and the frame's placement in it; joint 0 is the world.

        Raises:
            UnknownNameError: there is no such frame.
            FrameCycleError: bodies and frames are attached in a loop.
        """
        found = self._frames.get(name)
        return self._resolve(name) if found is None else found

    def _resolve(self, name: str) -> FramePlacement:
        trail: dict[str, pin.SE3] = {}
        frame = name
        while frame not in self._frames:
            if frame in trail:
                loop = tuple(trail)
                raise FrameCycleError(f"frames are attached in a loop: {' -> '.join((*loop, frame))}", subjects=loop)
            parent, pose = self._attachment(frame)
            trail[frame] = pin.SE3(pose)
            frame = parent
        for passed in reversed(trail):
            carrier = self._frames[frame]
            self._frames[passed] = FramePlacement(carrier.joint, carrier.placement * trail[passed])
            frame = passed
        return self._frames[name]

    def _attachment(self, name: str) -> tuple[str, Array]:
        body = self._state.bodies.get(name)
        if body is not None:
            return body.attached_to or WORLD, body.pose.matrix
        named = self.cell.frames.get(name)
        if named is None:
            raise UnknownNameError(unknown_name(f"frame {name!r}", name, self.frame_names), subjects=(name,))
        return named.attached_to or WORLD, named.pose.matrix

    @property
    def frame_names(self) -> tuple[str, ...]:
        """All frames: the world, links, tools, tool links, tool centre points, bodies, named frames."""
        return (*self.mechanisms.frames, *self._state.bodies, *self.cell.frames)

    @property
    def frames(self) -> Mapping[str, FramePlacement]:
        """Placements of all frames by name."""
        return {name: self.frame(name) for name in self.frame_names}


_models: IdentityCache[CellModel] = IdentityCache(size=64)
_by_arrangement: IdentityCache[CellModel] = IdentityCache(size=64)


def cell_model(cell: RobotCell, state: RobotCellState) -> CellModel:
    """The model of a cell in the arrangement of a state; states that differ in joint values alone share it."""
    objects = (cell, state.base_poses, state.tools, state.bodies)
    return _models.get(objects, (), lambda: _model_of_arrangement(cell, state))


def _model_of_arrangement(cell: RobotCell, state: RobotCellState) -> CellModel:
    """As `cell_model`, for a state whose tools are other objects than before: perhaps only their joints have moved."""
    objects = (cell, state.base_poses, state.bodies)
    return _by_arrangement.get(objects, attachments(state), lambda: CellModel(cell, state))


def _read_only(values: list[float]) -> Array:
    result = np.array(values, dtype=np.float64)
    result.flags.writeable = False
    return result
