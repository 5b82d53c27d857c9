"""Policies in the format of SROS 2: what the nodes of an enclave may publish, subscribe to, offer and use.

A policy grants access by the names of ROS. `Enclave.publishes` and `Enclave.subscribes` are the topics of DDS that
these represent: https://design.ros2.org/articles/topic_and_service_names.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from lxml import etree

from ..errors import FileError, InvalidRequestError

VERSION = "0.2.0"
STAGE = "security policy"
MAX_BYTES = 1_000_000  # of a file
ALLOW = "ALLOW"
ELEMENTS = {"topics": "topic", "services": "service", "actions": "action"}
GOALS = ("send_goal", "get_result", "cancel_goal")

_REQUESTS = tuple(f"rq{{}}/_action/{part}Request" for part in GOALS)
_REPORTS = (
    *(f"rr{{}}/_action/{part}Reply" for part in GOALS),
    "rt{}/_action/feedback",
    "rt{}/_action/status",
)
# By element and attribute: the topics of DDS to publish, and those to subscribe to.
TOPICS: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("topics", "publish"): (("rt{}",), ()),
    ("topics", "subscribe"): ((), ("rt{}",)),
    ("services", "request"): (("rq{}Request",), ("rr{}Reply",)),
    ("services", "reply"): (("rr{}Reply",), ("rq{}Request",)),
    ("actions", "call"): (_REQUESTS, _REPORTS),
    ("actions", "execute"): (_REPORTS, _REQUESTS),
}
_NAME = re.compile(r"(~/|/)?[A-Za-z0-9_*?]+(/[A-Za-z0-9_*?]+)*")
_PATH = re.compile(r"(/[A-Za-z_][A-Za-z0-9_]*)+")


@dataclass(frozen=True)
class Access:
    """One kind of access to some interfaces.

    kind: "topics", "services" or "actions". use: "publish", "subscribe", "request", "reply", "call" or "execute".
    names: as in a node's source, with `~/` for the node's own; `*` and `?` match any characters.
    """

    kind: str
    use: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Profile:
    """Permissions of one node."""

    namespace: str
    node: str
    accesses: tuple[Access, ...]

    def resolved(self, name: str) -> str:
        """The absolute form of a name."""
        if name.startswith("/"):
            return name
        folder = self.namespace.rstrip("/")
        return f"{folder}/{self.node}{name[1:]}" if name.startswith("~") else f"{folder}/{name}"


@dataclass(frozen=True)
class Enclave:
    """Permissions of a process that is started in an enclave: all of its profiles. path: such as
    "/robot_cell_planner/scene_node"."""

    path: str
    profiles: tuple[Profile, ...]

    @property
    def publishes(self) -> tuple[str, ...]:
        """The topics of DDS that it may publish, sorted."""
        return self._topics(0)

    @property
    def subscribes(self) -> tuple[str, ...]:
        """The topics of DDS that it may subscribe to, sorted."""
        return self._topics(1)

    def _topics(self, direction: int) -> tuple[str, ...]:
        return tuple(
            sorted(
                {
                    pattern.format(profile.resolved(name))
                    for profile in self.profiles
                    for access in profile.accesses
                    for pattern in TOPICS[access.kind, access.use][direction]
                    for name in access.names
                }
            )
        )

    def in_namespace(self, namespace: str) -> Enclave:
        """The same for nodes that are started in a namespace such as "cell1"; absolute names stay what they are.

        Raises:
            InvalidRequestError: It is no namespace.
        """
        if not namespace.strip("/"):
            return self
        prefix = "/" + namespace.strip("/")
        require_path(prefix)
        moved = tuple(replace(profile, namespace=prefix + profile.namespace.rstrip("/")) for profile in self.profiles)
        return Enclave(prefix + self.path, moved)


def require_path(path: str) -> None:
    """Refuse what is no absolute name of ROS, such as "/robot_cell_planner/scene_node".

    Raises:
        InvalidRequestError: With the path.
    """
    if not _PATH.fullmatch(path):
        raise InvalidRequestError(
            f"{path!r} is no path of an enclave or namespace: expected names of letters, digits and _, each after a /",
            stage=STAGE,
            subjects=(path,),
        )


def read_policy(path: Path) -> tuple[Enclave, ...]:
    """Read a policy file, with the files that it includes (XInclude).

    Raises:
        FileError: The file cannot be read, or is too large or no XML.
        InvalidRequestError: It is no policy of SROS 2, or denies something (what a policy does not allow is denied).
    """
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise FileError(
                f"{path} has {size} bytes, at most {MAX_BYTES} are read", stage=STAGE, subjects=(str(path),)
            )
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
        document = etree.parse(str(path), parser)
        document.xinclude()
    except OSError as error:
        raise FileError.of(path, error, STAGE) from error
    except etree.LxmlError as error:
        raise FileError(f"{path}: {error}", stage=STAGE, subjects=(str(path),)) from error
    return _Reader(path).policy(document.getroot())


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path

    def policy(self, root: Any) -> tuple[Enclave, ...]:
        if root.tag != "policy" or root.get("version") != VERSION:
            self._refuse(root, f"expected <policy version={VERSION!r}>")
        return tuple(
            self._enclave(found)
            for group in self._children(root, "enclaves")
            for found in self._children(group, "enclave")
        )

    def _enclave(self, element: Any) -> Enclave:
        path = self._attribute(element, "path")
        require_path(path)
        groups = self._children(element, "profiles")
        return Enclave(
            path, tuple(self._profile(found) for group in groups for found in self._children(group, "profile"))
        )

    def _profile(self, element: Any) -> Profile:
        namespace, node = (self._attribute(element, name) for name in ("ns", "node"))
        if namespace != "/":
            require_path(namespace)
        return Profile(namespace, node, tuple(access for child in element for access in self._accesses(child)))

    def _accesses(self, element: Any) -> Iterator[Access]:
        if element.tag is etree.Comment:
            return
        if element.tag not in ELEMENTS:
            self._refuse(element, f"expected one of {', '.join(ELEMENTS)}")
        names = tuple((found.text or "").strip() for found in self._children(element, ELEMENTS[element.tag]))
        for name in names:
            if not _NAME.fullmatch(name):
                self._refuse(element, f"{name!r} is no name of a {ELEMENTS[element.tag]}")
        for use, qualifier in element.attrib.items():
            if use.startswith("{"):  # xml:base, of XInclude
                continue
            if (element.tag, use) not in TOPICS or qualifier != ALLOW:
                self._refuse(element, f"{use}={qualifier!r} is not supported")
            yield Access(element.tag, use, names)

    def _children(self, element: Any, tag: str) -> list[Any]:
        found = [child for child in element if child.tag is not etree.Comment]
        for child in found:
            if child.tag != tag:
                self._refuse(child, f"expected <{tag}>")
        if not found:
            self._refuse(element, f"it has no <{tag}>")
        return found

    def _attribute(self, element: Any, name: str) -> str:
        value = element.get(name)
        if not value:
            self._refuse(element, f"it has no {name}")
        return str(value)

    def _refuse(self, element: Any, reason: str) -> NoReturn:
        place = f"{self._path}, line {element.sourceline}, <{element.tag}>"
        raise InvalidRequestError(f"{place}: {reason}", stage=STAGE, subjects=(str(self._path),))
