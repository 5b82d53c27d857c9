"""Immediate detection of terminated nodes on this computer; DDS takes many seconds to notice a killed process.

Each node binds an abstract socket name in its network namespace at its start, which the kernel releases with the
process; a second node of that name cannot bind it. Observers connect to the name: their connection belongs to that
process, not to a restarted one. Nodes of other computers and other programs have no such name; they are observed
through the graph.
"""

from __future__ import annotations

import errno
import hashlib
import socket
from collections.abc import Iterable

FAST_DDS = bytes((0x01, 0x0F))  # vendor ID (DDSI-RTPS 2.3, section 8.3.2), the first bytes of its GUIDs
# Remedy of the error of a node that does not start because of NameTakenError.
NAME_TAKEN = "Stop that node, or set another ROS_DOMAIN_ID or namespace (`robot_cell up --namespace`)."
HOST = 2  # following bytes, which identify the computer


class NameTakenError(Exception):
    """Another process of this computer has a node of that name."""


def address(domain: int, node: str) -> str:
    """Return the socket name of a node, of bounded length. node: full name, with the namespace."""
    digest = hashlib.sha256(node.encode("utf-8", "backslashreplace")).hexdigest()[:32]
    return f"\0robot_cell_planner/node/{domain}/{digest}"


def of_one_computer(identities: Iterable[bytes]) -> bool:
    """Return whether DDS endpoints with these GUIDs are known to be on one computer. GUIDs of Fast DDS begin with its
    vendor ID and a hash of a network interface; those of other vendors are unknown."""
    hosts = {identity[: len(FAST_DDS) + HOST] for identity in identities}
    return len(hosts) == 1 and hosts.pop().startswith(FAST_DDS)


class Presence:
    """Presence of a node, until it is closed or its process ends."""

    def __init__(self, domain: int, node: str) -> None:
        """Bind the name of a node.

        Raises:
            NameTakenError: Another node has it.
        """
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._socket.bind(address(domain, node))
        except OSError as error:
            self._socket.close()
            if error.errno == errno.EADDRINUSE:
                raise NameTakenError(node) from error
            raise

    def close(self) -> None:
        self._socket.close()


class Observed:
    """Observer of the process of a node that exists on construction."""

    def __init__(self, domain: int, node: str) -> None:
        """Connect to the process.

        Raises:
            LookupError: No process of this computer has that node.
        """
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            self._socket.connect(address(domain, node))
        except OSError as error:
            self._socket.close()
            raise LookupError(node) from error

    @property
    def lives(self) -> bool:
        """Return whether it still exists."""
        try:
            self._socket.send(b"")
        except BlockingIOError:
            return True  # nothing is read from the connections
        except OSError:
            return False
        return True

    def close(self) -> None:
        self._socket.close()
