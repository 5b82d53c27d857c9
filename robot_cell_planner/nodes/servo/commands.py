"""Commands of servo: read from topics, checked, and rejected with a reason if invalid."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from control_msgs.msg import JointJog
from geometry_msgs.msg import PoseStamped, TwistStamped
from numpy.typing import NDArray
from std_msgs.msg import Header

from robot_cell_planner.msg import ServoOptions

from ...errors import InvalidRequestError, StaleStateError, UnknownNameError, Value
from ...kinematics.chain import Chain
from ...kinematics.forward import chain_to
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...model.value import WORLD
from ..common.external_frames import ExternalFrames, has_frame
from ..common.node import CellNode, sensor
from ..common.polled_subscription import MAX_SIZE, PolledSubscription
from ..conversions.arrays import twist_from_message
from ..conversions.basic import pose_from_message, time_from_message

Array = NDArray[np.float64]
Command = TwistStamped | JointJog | PoseStamped
DEPTH = 20  # commands kept between two reads
MAX_COMMAND = 1e6  # [m, m/s or rad/s] in a command
SOURCES: dict[int, tuple[type[Command], str]] = {
    ServoOptions.TWIST: (TwistStamped, "servo/twist"),
    ServoOptions.JOINT_VELOCITY: (JointJog, "servo/joint_velocities"),
    ServoOptions.TRACK_TARGET: (PoseStamped, "servo/target"),
}


class ServoTopics:
    """The topics of commands. Messages are kept until they are read."""

    def __init__(self, node: CellNode) -> None:
        self._node = node
        self._subscriptions: dict[int, PolledSubscription[Command]] = {
            source: PolledSubscription(node, kind, topic, sensor(DEPTH), max_size=MAX_SIZE)
            for source, (kind, topic) in SOURCES.items()
        }

    def check(self, source: int) -> None:
        """Raise InvalidRequestError for an unknown source."""
        if source not in SOURCES:
            text = f"unknown source {source}, expected a constant of ServoOptions (0 to 2)"
            raise InvalidRequestError(text, stage="servo", subjects=("source",))

    def take(self, source: int) -> Iterator[Command]:
        """Return the messages since the last read."""
        return self._subscriptions[source].take()

    def forget(self) -> None:
        """Discard earlier messages."""
        for subscription in self._subscriptions.values():
            for _ in subscription.take():
                pass

    def check_age(self, message: Command, timeout: float) -> None:
        """Raise StaleStateError for a command whose stamp is older than a timeout [s]; one without a stamp is new."""
        stamp = time_from_message(message.header.stamp)
        age = (self._node.get_clock().now().nanoseconds - stamp) * 1e-9
        if stamp and age > timeout:
            text = f"servo command is {age:.3f} s old (limit {timeout:g} s)"
            raise StaleStateError(text, stage="servo", values=(Value("age", age, timeout, "s"),))


class FrameReader:
    """Converts commands in a frame, for variables that move while all others are as in a state.

    frames: of TF, for those that are not part of the cell. Transforms are those at the stamp of the command; for a
    stamp up to `timeout` [s] after the latest transform, that one, since commands do not wait.
    """

    def __init__(
        self,
        cell: RobotCell,
        state: RobotCellState,
        variables: tuple[str, ...],
        frames: ExternalFrames,
        timeout: float,
    ) -> None:
        self._cell, self._state = cell, state
        self._variables = variables
        self._frames, self._timeout = frames, timeout
        self._chains: dict[str, Chain] = {}

    def _matrix(self, header: Header, positions: Array) -> Array:
        name = header.frame_id
        if name in ("", WORLD):
            return np.eye(4)
        if not has_frame(self._cell, name):
            found: Array = self._frames.near(name, time_from_message(header.stamp), self._timeout).pose.matrix
            return found
        if name not in self._chains:
            self._chains[name] = chain_to(self._cell, self._state, name, self._variables)
        matrix: Array = self._chains[name].forward(positions)
        return matrix

    def twist(self, message: TwistStamped, positions: Array) -> Array:
        """Return the twist (6,) in the axes of the world.

        Raises:
            InvalidRequestError: A number is not finite, or beyond MAX_COMMAND.
            TransformError: Neither the cell nor TF contains the frame, or TF has no data at the stamp.
        """
        twist = twist_from_message(message.twist, "servo/twist")
        _check_size(twist, "servo/twist")
        rotation = self._matrix(message.header, positions)[:3, :3]
        return np.concatenate((rotation @ twist[:3], rotation @ twist[3:]))

    def target(self, message: PoseStamped, positions: Array) -> Array:
        """Return the pose (4, 4) in the world.

        Raises:
            InvalidRequestError: It is not a pose, or further away than MAX_COMMAND.
            TransformError: Neither the cell nor TF contains the frame, or TF has no data at the stamp.
        """
        pose = pose_from_message(message.pose, "servo/target").matrix
        _check_size(pose[:3, 3], "servo/target")
        target: Array = self._matrix(message.header, positions) @ pose
        return target


def _check_size(numbers: Array, field: str) -> None:
    """Raise InvalidRequestError for numbers beyond MAX_COMMAND."""
    largest = float(np.abs(numbers).max())
    if not largest <= MAX_COMMAND:
        text = f"{field} contains a number of size {largest:g}, expected at most {MAX_COMMAND:g}"
        raise InvalidRequestError(text, stage="servo", subjects=(field,), values=(Value(field, largest, MAX_COMMAND),))


def joint_velocities(message: JointJog, variables: tuple[str, ...], joints: tuple[str, ...]) -> Array:
    """Return velocities (dof,) of variables, zero for omitted ones; joints: the robot's names of them.

    Raises:
        InvalidRequestError: There are displacements, the numbers of names and velocities differ, a name is repeated, or
            a velocity is not finite or beyond MAX_COMMAND.
        UnknownNameError: An unknown name.
    """
    field = "servo/joint_velocities"
    if message.displacements:
        text = (
            f"{field} has displacements, expected only velocities; to move to a position use the action execution/move"
        )
        raise InvalidRequestError(text, stage="servo", subjects=(field,))
    if not message.joint_names or len(message.velocities) != len(message.joint_names):
        text = f"{field} has {len(message.joint_names)} names and {len(message.velocities)} velocities"
        raise InvalidRequestError(text, stage="servo", subjects=(field,))
    columns = {**dict(zip(joints, range(len(joints)), strict=True)), **{n: i for i, n in enumerate(variables)}}
    velocities = np.zeros(len(variables))
    seen: set[int] = set()
    for name, value in zip(message.joint_names, message.velocities, strict=True):
        if name not in columns:
            text = f"{field} contains unknown joint {name!r}; servo moves {', '.join(variables)}"
            raise UnknownNameError(text, stage="servo", subjects=(name,))
        if columns[name] in seen:
            raise InvalidRequestError(f"{field} lists joint {name} twice", stage="servo", subjects=(name,))
        if not abs(value) <= MAX_COMMAND:
            text = f"{field}: joint {name} is {value:g}, expected a number within {MAX_COMMAND:g}"
            raise InvalidRequestError(text, stage="servo", subjects=(name,))
        seen.add(columns[name])
        velocities[columns[name]] = value
    return velocities
