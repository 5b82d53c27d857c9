"""Parameters on the command line of a node that it does not have: ROS 2 ignores them silently."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import yaml

from ...model.name_suggestions import similar_names

SECTION, PARAMETER = "ros__parameters", ("-p", "--param")
FOR_ALL_NODES = "cell_file"  # given to each node of a cell by `robot_cell` and the launch files
BY_OTHERS = "qos_overrides.", "robot_description"  # begin names that rclpy or the MoveIt adapter declares later
SAME_NODE = 0.85  # similarity of a misspelt name of a node


def unknown_parameters(
    arguments: Iterable[str], node: str, is_declared: Callable[[str], bool], declared: Iterable[str]
) -> tuple[str, ...]:
    """Return a sentence for each parameter that a command line or its files of parameters give to a node (its name,
    without namespace) that does not have it, and for each section of a file whose node is probably this one, misspelt.

    Sections for all nodes are left out, since they may be meant for others, and so are similar names of nodes in a file
    that has a section for this one, such as `arm_1` and `arm_2`. declared: names to suggest.
    """
    names, given = list(declared), list(_given(_of_ros(arguments)))
    with_section = {source for source, given_to, _ in given if given_to == node}
    found = []
    for source, given_to, name in given:
        if given_to in ("", node):
            if not (is_declared(name) or name == FOR_ALL_NODES or name.startswith(BY_OTHERS)):
                near = similar_names(name, names)
                nearest = f"; nearest: {', '.join(near)}" if near else ""
                found.append(f"{source}: {node} has no parameter {name}, which is ignored{nearest}")
        elif source not in with_section and difflib.SequenceMatcher(None, given_to, node).ratio() >= SAME_NODE:
            found.append(f"{source}: parameters of {given_to} are ignored; this node is {node}")
    return tuple(dict.fromkeys(found))


def _of_ros(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the arguments that rcl reads: those from `--ros-args` to `--` or the end."""
    is_read = False
    for word in arguments:
        is_read = word == "--ros-args" or (is_read and word != "--")
        if is_read:
            yield word


def _given(arguments: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield source, node and name of each parameter; "" is the node of this process."""
    for flag, word in pairwise(arguments):
        if flag == "--params-file":
            yield from ((word, node, name) for node, name in _in_file(word))
        elif flag in PARAMETER:
            node, _, name = word.partition(":=")[0].rpartition(":")
            yield f"{flag} {word}", node.rpartition("/")[2], name


def _in_file(path: str) -> Iterator[tuple[str, str]]:
    """Yield node and name of each parameter in a file that rcl has read; sections for all nodes are left out."""
    # As rcl does: in any encoding of YAML, with several documents, and without the types of values.
    with open(path, "rb") as stream:
        for document in yaml.load_all(stream, Loader=yaml.BaseLoader):
            yield from _in_sections("", document)


def _in_sections(node: str, content: object) -> Iterator[tuple[str, str]]:
    if not isinstance(content, dict):
        return
    for key, value in content.items():
        if key != SECTION:
            yield from _in_sections(str(key).rpartition("/")[2], value)
        elif "*" not in node:
            yield from ((node, name) for name in _names("", value))


def _names(prefix: str, content: object) -> Iterator[str]:
    """Yield the names of parameters; those of nested mappings are joined by dots."""
    if not isinstance(content, dict):
        yield prefix.rstrip(".")
        return
    for key, value in content.items():
        yield from _names(f"{prefix}{key}.", value)
