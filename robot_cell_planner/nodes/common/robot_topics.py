"""Topics of single robots: `left/joint_states` and `left/joint_commands`, with the bare names of the robot's joints.

With the parameter `robot_topics: [left/, right/]`, a node also reads joint states from the topic of each prefix, and
the execution node sends the commands of each robot on its topic. Joint `elbow_joint` there is `left/elbow_joint`
elsewhere; names with a slash, such as joints of tools (`left_gripper/finger_joint`), are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rclpy.node import Node
from sensor_msgs.msg import JointState

from ...errors import InvalidRequestError
from .node import CellNode, reliable, sensor
from .parameters import Parameter, Parameters
from .polled_subscription import PolledSubscription

ROBOT_TOPICS = Parameter(
    "robot_topics",
    [""],
    "Prefixes of robots that have topics joint_states and joint_commands of their own below them, with bare joint "
    "names; none: one topic for all robots.",
    constraint="each once, ending with /",
)
DEPTH = 10  # of published messages
MAX_NAME_LISTS = 1000  # of different messages


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


@dataclass(frozen=True)
class ReceivedStates:
    """A message of joint states, with the names of its joints in the cell."""

    names: Sequence[str]
    message: JointState


class JointMessages:
    """Messages of joints from the topic of all robots and from those of single robots.

    Attributes:
        sources: Prefix of the topic that contained a joint last, by joint; "" for that of all robots.
    """

    def __init__(self, node: CellNode, topic: str, depth: int) -> None:
        prefixes = ("", *robot_prefixes(node.parameters))
        self._node = node
        self._inputs = {
            prefix: PolledSubscription(node, JointState, prefix + topic, sensor(depth)) for prefix in prefixes
        }
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.sources: dict[str, str] = {}
        self.topics = tuple(prefix + topic for prefix in prefixes)

    def take(self) -> Iterator[ReceivedStates]:
        """Return the messages received since the last call, oldest first for each topic."""
        for prefix, subscription in self._inputs.items():
            for message in subscription.take():
                yield ReceivedStates(self._names_inside(prefix, message.name), message)

    def _names_inside(self, prefix: str, names: Sequence[str]) -> Sequence[str]:
        if not prefix and len(self._inputs) == 1:
            return names
        key = (prefix, *names)
        found = self._names.get(key)
        if found is None:
            found = tuple(name_inside(prefix, name) for name in names)
            self.sources.update(dict.fromkeys(found, prefix))
            if len(self._names) < MAX_NAME_LISTS:
                self._names[key] = found
        return found

    def publishers(self) -> int:
        """Return the number of publishers of all topics."""
        return sum(self._node.count_publishers(topic) for topic in self.topics)


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
        self._names: list[str] = []
        self._parts: dict[str, tuple[list[int], list[str]]] = {}

    @property
    def topic_names(self) -> tuple[str, ...]:
        """Topics with at least one joint so far; without any, all."""
        return tuple(self._publishers[prefix].topic_name for prefix in self._used or self._publishers)

    @property
    def is_heard(self) -> bool:
        """Whether each topic with joints, or without any at least one topic, has a subscriber."""
        counts = {prefix: publisher.get_subscription_count() for prefix, publisher in self._publishers.items()}
        if not self._used:
            return any(counts.values())
        return all(counts[prefix] > 0 for prefix in self._used)

    def publish(self, message: JointState) -> None:
        """Publish a message of all joints; each topic gets its joints, under its names, with the same stamp."""
        if not self._prefixes:
            self._publishers[""].publish(message)
            return
        if message.name != self._names:
            self._divide(list(message.name))
        for prefix, (columns, names) in self._parts.items():
            part = JointState(header=message.header, name=names)
            for kind in ("position", "velocity", "effort"):
                values = getattr(message, kind)
                if len(values):
                    setattr(part, kind, [values[column] for column in columns])
            self._publishers[prefix].publish(part)

    def _divide(self, names: list[str]) -> None:
        parts: dict[str, tuple[list[int], list[str]]] = {}
        for column, name in enumerate(names):
            prefix = self._prefix_of(name)
            columns, own = parts.setdefault(prefix if prefix in self._publishers else "", ([], []))
            columns.append(column)
            own.append(name.removeprefix(prefix) if prefix else name)
        self._names, self._parts = names, parts
        self._used = set(parts)
