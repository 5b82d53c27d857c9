"""Topics of single robots: `left/joint_states` and `left/joint_commands`, with the bare names of the robot's joints.

With the parameter `robot_topics: [left/, right/]`, a node also reads joint states from the topic of each prefix, and
the execution node sends the commands of each robot on its topic. Joint `elbow_joint` there is `left/elbow_joint`
elsewhere; names with a slash, such as joints of tools (`left_gripper/finger_joint`), are the same everywhere.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Collection, Iterator, Sequence

from rclpy.node import Node
from sensor_msgs.msg import JointState

from ...errors import InvalidRequestError
from .joint_state_messages import JointStateReader, JointStateWriter, JointValues
from .joint_states import JointNames, is_older
from .node import CellNode, reliable, sensor
from .parameters import Parameter, Parameters
from .polled_subscription import MAX_SIZE, PolledSubscription

ROBOT_TOPICS = Parameter(
    "robot_topics",
    [""],
    "Prefixes of robots that have topics joint_states and joint_commands of their own below them, with bare joint "
    "names; none: one topic for all robots.",
    constraint="each once, ending with /",
)
DEPTH = 10  # of published messages
MAX_NAMES = 20_000  # in all lists of names of messages that are retained
REPORT_PERIOD = 10.0  # [s] between warnings of messages that cannot be read


def robot_prefixes(parameters: Parameters) -> tuple[str, ...]:
    """Return the prefixes of robots with topics of their own; none for a node without the parameter.

    Raises:
        InvalidRequestError: One is listed twice, or does not end with a slash.
    """
    return checked_prefixes(parameters, ROBOT_TOPICS.name)


def checked_prefixes(parameters: Parameters, name: str) -> tuple[str, ...]:
    """Return a parameter that lists prefixes of robots; none for a node without the parameter.

    Raises:
        InvalidRequestError: one is listed twice, or does not end with a slash.
    """
    prefixes = tuple(prefix for prefix in parameters.get(name, ()) if prefix)
    for prefix in prefixes:
        if not prefix.endswith("/") or prefix.startswith("/") or prefixes.count(prefix) > 1:
            text = f"parameter {name} contains {prefix!r}; expected each prefix once, as in left/"
            raise InvalidRequestError(text, stage="parameters", subjects=(name,))
    return prefixes


def name_inside(prefix: str, name: str) -> str:
    """Return the name in the cell of a joint on the topic of a prefix."""
    return name if "/" in name else prefix + name


class JointMessages:
    """Messages of joints from the topic of all robots and from those of single robots.

    Attributes:
        sources: Prefix of the topic of a single robot that contained a joint last, by joint, see `JointNames`;
            none for joints that only the topic of all robots contained.
    """

    def __init__(
        self,
        node: CellNode,
        topic: str,
        depth: int,
        on_message: Callable[[], None] | None = None,
        *,
        own: Collection[str] = (),
    ) -> None:
        """on_message: see `wait_for_message`; own: joints of the robot, which always have room in `sources`."""
        prefixes = ("", *robot_prefixes(node.parameters))
        self._node = node
        self._inputs: dict[str, PolledSubscription[JointState]] = {
            prefix: PolledSubscription(
                node, JointState, prefix + topic, sensor(depth), raw=True, max_size=MAX_SIZE, on_message=on_message
            )
            for prefix in prefixes
        }
        self._topic = topic
        self._reader = JointStateReader()
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._retained = 0  # number of names in these lists
        self.sources: dict[str, str] = {}
        self._known = JointNames(own, self.sources.pop)

    def wait_for_message(self) -> None:
        """Let the next message of each topic wake the executor, which then calls `on_message`."""
        for subscription in self._inputs.values():
            subscription.wait_for_message()

    def take(self) -> Iterator[JointValues]:
        """Return the messages received since the last call, oldest first for each topic."""
        for prefix, subscription in self._inputs.items():
            for data in subscription.take_raw():
                values = self._read(data, prefix)
                if values is not None:
                    yield values

    def take_latest(self) -> Iterator[JointValues]:
        """As `take`, but of messages with the same joints only the one with the newest stamp."""
        latest: dict[tuple[str, ...], JointValues] = {}
        for values in self.take():
            last = latest.get(values.names)
            if last is None or not is_older(values.stamp, last.stamp):
                latest[values.names] = values
        return iter(latest.values())

    def _read(self, data: bytes, prefix: str) -> JointValues | None:
        """Return the contents of a message; None if it cannot be read, which is reported."""
        try:
            values = self._reader.read(data)
        except (struct.error, UnicodeDecodeError) as error:
            text = f"a message of {prefix}{self._topic} cannot be read: {error}"
            self._node.get_logger().warning(text, throttle_duration_sec=REPORT_PERIOD)
            return None
        return values._replace(names=self._names_inside(prefix, values.names))

    def _names_inside(self, prefix: str, names: tuple[str, ...]) -> tuple[str, ...]:
        if not prefix and len(self._inputs) == 1:
            return names
        key = (prefix, *names)
        found = self._names.get(key)
        if found is None:
            found = tuple(name_inside(prefix, name) for name in names)
            if self._retained + len(key) <= MAX_NAMES:
                self._retained += len(key)
                self._names[key] = found
        if prefix:  # the topic of all robots may contain these joints, too, if another node merges topics
            self._note_sources(prefix, found)
        return found

    def _note_sources(self, prefix: str, names: tuple[str, ...]) -> None:
        now = time.monotonic()
        for name in names:
            if self._known.admit(name, now):
                self.sources[name] = prefix

    @property
    def refused(self) -> int:
        """Number of messages that were too large to be read."""
        return sum(subscription.refused for subscription in self._inputs.values())

    def publishers(self) -> int:
        """Return the number of publishers of all topics."""
        return sum(subscription.publishers for subscription in self._inputs.values())


class JointOutput:
    """Publishes one message for all joints, or one for each robot with a topic of its own, in the same call.

    Args:
        prefix_of: Returns the prefix of the topic that a joint belongs to.
    """

    def __init__(self, node: Node, topic: str, prefix_of: Callable[[str], str], prefixes: Sequence[str] = ()) -> None:
        self._prefixes = tuple(prefixes)
        self._prefix_of = prefix_of
        self._publishers = {
            prefix: node.create_publisher(JointState, prefix + topic, reliable(DEPTH))
            for prefix in ("", *self._prefixes)
        }
        self._used: set[str] = set() if self._prefixes else {""}
        self._writers = {prefix: JointStateWriter() for prefix in self._publishers}
        self._names: tuple[str, ...] = ()
        self._parts: dict[str, tuple[list[int], tuple[str, ...]]] = {}

    @property
    def topic_names(self) -> tuple[str, ...]:
        """Topics with at least one joint so far; without any, all."""
        return tuple(self._publishers[prefix].topic_name for prefix in self._used or self._publishers)

    @property
    def has_subscribers(self) -> bool:
        """Whether each topic with joints, or without any at least one topic, has a subscriber."""
        counts = {prefix: publisher.get_subscription_count() for prefix, publisher in self._publishers.items()}
        if not self._used:
            return any(counts.values())
        return all(counts[prefix] > 0 for prefix in self._used)

    def publish(self, values: JointValues) -> None:
        """Publish the values of all joints; each topic gets its joints, under its names, with the same stamp."""
        if not self._prefixes:
            self._send("", values)
            return
        if values.names != self._names:
            self._divide(values.names)
        for prefix, (columns, names) in self._parts.items():
            parts = (
                [row[column] for column in columns] if len(row) else ()
                for row in (values.positions, values.velocities, values.efforts)
            )
            self._send(prefix, JointValues(names, values.stamp, *parts))

    def _send(self, prefix: str, values: JointValues) -> None:
        self._publishers[prefix].publish(self._writers[prefix].write(*values))

    def _divide(self, names: tuple[str, ...]) -> None:
        parts: dict[str, tuple[list[int], list[str]]] = {}
        for column, name in enumerate(names):
            prefix = self._prefix_of(name)
            columns, own = parts.setdefault(prefix if prefix in self._publishers else "", ([], []))
            columns.append(column)
            bare = name.removeprefix(prefix)
            own.append(name if "/" in bare else bare)  # read back by `name_inside`
        self._names = names
        self._parts = {prefix: (columns, tuple(own)) for prefix, (columns, own) in parts.items()}
        self._used = set(parts)
