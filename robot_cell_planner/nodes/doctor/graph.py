"""Findings about a ROS graph, from a snapshot of its nodes and topics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible

from ...model.name_suggestions import listed
from ...setup_assistant.finding import ERROR, WARNING, Finding
from ..common.start import MODULES

EXECUTION, SCENE = "execution_node", "scene_node"
COMMAND_TYPES = ("sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory", "std_msgs/msg/Float64MultiArray")
JOINT_STATE = COMMAND_TYPES[0]
CLOCK = "/clock"
MAX_OFFSET = 1.0  # [s] between the stamps of joint states and the clock
ONE_PUBLISHER = (
    "End all but the driver of each joint, also a simulated_robot, a record that is played or a joint_state_publisher: "
    "measured positions jump between them. Remap the topic of a node that merges joint states."
)
ONE_PARENT = (
    "End all but one, or give each cell its own `frame_prefix`: TF has the transform that came last. Remap tf and "
    "tf_static of a robot_state_publisher beside the scene node, which publishes the links of all robots."
)


@dataclass(frozen=True)
class Endpoint:
    """Publisher or subscription of a topic.

    Attributes:
        topic: Full name.
        kind: Type of the message, for example sensor_msgs/msg/JointState.
        node: Full name of the node.
        publishes: Whether it is a publisher.
        qos: Quality of service.
    """

    topic: str
    kind: str
    node: str
    publishes: bool
    qos: QoSProfile


@dataclass(frozen=True)
class Source:
    """Publisher of positions of joints, or of transforms of frames.

    Attributes:
        topic: Full name; /tf also for /tf_static.
        node: Full name of the node.
        names: Joints in its messages with positions, or frames that its transforms place.
        first, last: When its first and its latest message arrived, on the steady clock [s]; infinite for static
            transforms, which hold until their publisher ends.
    """

    topic: str
    node: str
    names: frozenset[str]
    first: float
    last: float


@dataclass(frozen=True)
class Graph:
    """Snapshot of a graph.

    Attributes:
        nodes: Full names of all nodes; a name that several have is listed as often.
        endpoints: Publishers and subscriptions of all topics.
        stamp_offsets: Stamp of the latest joint state minus the clock when it arrived [s], by topic.
        statuses: Names and messages of diagnostics that are not OK.
        joints, frames: Sources of joint states and transforms, from which messages were received.
    """

    nodes: tuple[str, ...]
    endpoints: tuple[Endpoint, ...]
    stamp_offsets: tuple[tuple[str, float], ...] = ()
    statuses: tuple[tuple[str, str], ...] = ()
    joints: tuple[Source, ...] = ()
    frames: tuple[Source, ...] = ()


def graph_findings(graph: Graph) -> tuple[Finding, ...]:
    """Find nodes of the same name, quality of service that does not match, several publishers of commands, joints or
    frames, clocks that do not agree, missing joint states, and diagnostics that are not OK."""
    return (
        *_nodes(graph),
        *_topics(graph.endpoints),
        *_commands(graph),
        *_clocks(graph),
        *_joint_states(graph),
        *_joint_sources(graph.joints),
        *_frame_sources(graph.frames),
        *(
            Finding(WARNING, "diagnostics", f"{name}: {text}", "See docs/interfaces.md for what this node needs.")
            for name, text in graph.statuses
        ),
    )


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _nodes(graph: Graph) -> Iterator[Finding]:
    for name, count in sorted(Counter(graph.nodes).items()):
        if count > 1:
            text = f"{count} nodes have the name {name}"
            yield Finding(ERROR, "nodes", text, "End all but one, or start each with its own namespace (__ns).")
    own = [name for name in graph.nodes if _base(name) in MODULES]
    if not own:
        text = f"no node of a cell runs in this domain; there are {len(graph.nodes)} other nodes"
        yield Finding(
            WARNING, "nodes", text, "`robot_cell up --cell cell.yaml`, or set the ROS_DOMAIN_ID of the nodes."
        )
    for space in sorted({name.rpartition("/")[0] for name in own}):
        if f"{space}/{SCENE}" not in own:
            text = f"namespace {space or '/'} has nodes of a cell and no {SCENE}, for which they wait"
            yield Finding(ERROR, "nodes", text, "Start the scene node in that namespace.")


def _topics(endpoints: Iterable[Endpoint]) -> Iterator[Finding]:
    by_topic: defaultdict[str, list[Endpoint]] = defaultdict(list)
    for endpoint in endpoints:
        by_topic[endpoint.topic].append(endpoint)
    for topic, found in sorted(by_topic.items()):
        kinds = sorted({endpoint.kind for endpoint in found})
        if len(kinds) > 1:
            users = "; ".join(f"{kind} at {', '.join(_users(found, kind))}" for kind in kinds)
            text = f"{topic} has {len(kinds)} types, between which nothing arrives: {users}"
            yield Finding(ERROR, "types", text, "Remap one of the topics, or build all nodes from the same interfaces.")
        publishers = [endpoint for endpoint in found if endpoint.publishes]
        for subscription in (endpoint for endpoint in found if not endpoint.publishes):
            yield from (f for p in publishers for f in _mismatch(p, subscription) if p.kind == subscription.kind)


def _users(endpoints: Iterable[Endpoint], kind: str) -> list[str]:
    return sorted({endpoint.node for endpoint in endpoints if endpoint.kind == kind})


def _mismatch(publisher: Endpoint, subscription: Endpoint) -> Iterator[Finding]:
    compatible, reason = qos_check_compatible(publisher.qos, subscription.qos)
    if compatible == QoSCompatibility.ERROR:
        text = f"{subscription.node} receives nothing of {publisher.node} on {publisher.topic}: {reason.strip()}"
        remedy = "Offer at least what is requested: reliable and transient local publishers, or subscribe best effort."
        yield Finding(ERROR, "quality of service", text, remedy)


def _commands(graph: Graph) -> Iterator[Finding]:
    topics = {
        endpoint.topic
        for endpoint in graph.endpoints
        if endpoint.publishes and _base(endpoint.node) == EXECUTION and endpoint.kind in COMMAND_TYPES
    }
    for topic in sorted(topics):
        nodes = sorted(e.node for e in graph.endpoints if e.publishes and e.topic == topic)
        if len(nodes) > 1:
            text = f"{len(nodes)} publishers send commands on {topic}: {', '.join(nodes)}"
            yield Finding(ERROR, "commands", text, "End all but one: the robot gets both, and jumps between them.")


def _clocks(graph: Graph) -> Iterator[Finding]:
    clocks = sorted(e.node for e in graph.endpoints if e.publishes and e.topic == CLOCK)
    waiting = {e.node for e in graph.endpoints if not e.publishes and e.topic == CLOCK}
    if len(clocks) > 1:
        text = f"{len(clocks)} nodes publish {CLOCK}: {', '.join(clocks)}"
        yield Finding(ERROR, "clocks", text, "End all but one, since time jumps between them.")
    simulated = sorted(name for name in waiting if _base(name) in MODULES)
    steady = sorted(name for name in graph.nodes if _base(name) in MODULES and name not in waiting)
    if simulated and not clocks:
        text = f"{', '.join(simulated)} use simulated time, and no node publishes {CLOCK}"
        yield Finding(ERROR, "clocks", text, "Start the simulation, or set `use_sim_time: false`.")
    if simulated and steady:
        text = f"{', '.join(simulated)} use simulated time, and {', '.join(steady)} do not"
        yield Finding(ERROR, "clocks", text, "Set `use_sim_time` alike for all nodes of a cell.")
    for topic, offset in graph.stamp_offsets:
        if abs(offset) > MAX_OFFSET:
            way = "behind" if offset < 0.0 else "ahead of"
            text = f"the stamps of {topic} are {abs(offset):.1f} s {way} the clock of this computer"
            remedy = "Synchronise the clocks (chrony), or set `use_sim_time` where the robot is simulated."
            yield Finding(ERROR, "clocks", text, remedy)


def _joint_states(graph: Graph) -> Iterator[Finding]:
    used: defaultdict[str, list[str]] = defaultdict(list)
    published = {e.topic for e in graph.endpoints if e.publishes}
    read = [e for e in graph.endpoints if e.kind == JOINT_STATE and not e.publishes and _base(e.node) in MODULES]
    # Nodes may read topics of single robots besides the one of all robots.
    supplied = {(e.node, _base(e.topic)) for e in read if e.topic in published}
    for endpoint in read:
        if endpoint.topic not in published and (endpoint.node, _base(endpoint.topic)) not in supplied:
            used[endpoint.topic].append(endpoint.node)
    for topic, nodes in sorted(used.items()):
        text = f"no node publishes {topic}; subscribers: {', '.join(sorted(set(nodes)))}"
        yield Finding(WARNING, "joint states", text, "Start the robot's driver or simulated_robot, or remap the topic.")


def _joint_sources(sources: Iterable[Source]) -> Iterator[Finding]:
    for topic, users, names in _shared(sources):
        joint = f"joint{'s' if len(names) > 1 else ''} {listed(names)}"
        text = f"{len(users)} publishers send positions of {joint} on {topic}: {', '.join(users)}"
        yield Finding(ERROR, "joint states", text, ONE_PUBLISHER)


def _frame_sources(sources: Iterable[Source]) -> Iterator[Finding]:
    for topic, users, names in _shared(sources):
        frame = f"frame{'s' if len(names) > 1 else ''} {listed(names)}"
        text = f"{len(users)} publishers send transforms of {frame} on {topic}: {', '.join(users)}"
        yield Finding(WARNING, "frames", text, ONE_PARENT)


def _shared(sources: Iterable[Source]) -> list[tuple[str, tuple[str, ...], list[str]]]:
    """Return names that several sources on a topic have at the same time: topic, nodes, and names."""
    by_name: defaultdict[tuple[str, str], list[Source]] = defaultdict(list)
    for source in sources:
        for name in source.names:
            by_name[source.topic, name].append(source)
    shared: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (topic, name), found in by_name.items():
        nodes = sorted(each.node for each in found if any(_at_once(each, other) for other in found))
        if nodes:
            shared[topic, tuple(nodes)].append(name)
    return [(topic, nodes, sorted(names)) for (topic, nodes), names in sorted(shared.items())]


def _at_once(source: Source, other: Source) -> bool:
    """Return whether another source was active while this one was, unlike a driver that was started again."""
    return source is not other and source.first <= other.last and other.first <= source.last
