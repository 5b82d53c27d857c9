"""Whether a node of this computer lives: known at once, where DDS notices a killed process after many seconds.

Each node holds a name among the abstract sockets of its network namespace from its start on, which the kernel takes
away with the process; a second node of that name cannot have it. Others connect to the name: what they hold then leads
to that very process, not to one that has taken its place. Nodes of other computers, and programs that are not of this
suite, have no such name; of them the graph tells.
"""

from __future__ import annotations

import errno
import hashlib
import socket
from collections.abc import Iterable

FAST_DDS = bytes((0x01, 0x0F))  # vendor's number (DDSI-RTPS 2.3, section 8.3.2), which its identities begin with
HOST = 2  # bytes after that which stand for the computer


class NameTakenError(Exception):
    """Another process of this computer shows a node of that name."""


def address(domain: int, node: str) -> str:
    """The name of a socket that stands for a node, of bounded length. node: its full name, with the namespace."""
    digest = hashlib.sha256(node.encode("utf-8", "backslashreplace")).hexdigest()[:32]
    return f"\0robot_cell_planner/node/{domain}/{digest}"


def of_one_computer(identities: Iterable[bytes]) -> bool:
    """Whether endpoints of DDS with these identities are known to be of one computer. Fast DDS begins them with its
    vendor's number and one of the computer's network interfaces; of others nothing is known."""
    hosts = {identity[: len(FAST_DDS) + HOST] for identity in identities}
    return len(hosts) == 1 and hosts.pop().startswith(FAST_DDS)


class Presence:
    """Shows that a node lives, until it is closed or its process ends."""

    def __init__(self, domain: int, node: str) -> None:
        """Take the name of a node.

        Raises:
            NameTakenError: another node has it.
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
    """A process that shows a node, found when this was made."""

    def __init__(self, domain: int, node: str) -> None:
        """Find it.

        Raises:
            LookupError: no process of this computer shows that node.
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
        """Whether it still does."""
        try:
            self._socket.send(b"")
        except BlockingIOError:
            return True  # nobody reads what is sent, and no more is kept
        except OSError:
            return False
        return True

    def close(self) -> None:
        self._socket.close()
