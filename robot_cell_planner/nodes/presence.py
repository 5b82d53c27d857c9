"""Whether a node of this computer lives: known at once, where DDS notices a killed process after many seconds.

Each node holds a name among the abstract sockets of its network namespace, which the kernel takes away with the
process. Others connect to the name: what they hold then leads to that very process, not to one that has taken its
place. Nodes of other computers, and programs that are not of this suite, have no such name; of them the graph tells.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable

FAST_DDS = bytes((0x01, 0x0F))  # vendor's number (DDSI-RTPS 2.3, section 8.3.2), which its identities begin with
HOST = 2  # bytes after that which stand for the computer


def address(domain: str, node: str) -> str:
    """The name of a socket that stands for a node. node: its full name, with the namespace."""
    return f"\0robot_cell_planner/node/{domain}{node}"


def domain_of_environment() -> str:
    """The ROS_DOMAIN_ID of this process."""
    return os.environ.get("ROS_DOMAIN_ID") or "0"


def of_one_computer(identities: Iterable[bytes]) -> bool:
    """Whether endpoints of DDS with these identities are known to be of one computer. Fast DDS begins them with its
    vendor's number and one of the computer's network interfaces; of others nothing is known."""
    hosts = {identity[: len(FAST_DDS) + HOST] for identity in identities}
    return len(hosts) == 1 and hosts.pop().startswith(FAST_DDS)


class Presence:
    """Shows that a node lives, until it is closed or its process ends. held: False if another process of this computer
    shows the same node."""

    def __init__(self, node: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._socket.bind(address(domain_of_environment(), node))
        except OSError:
            self.held = False
        else:
            self.held = True

    def close(self) -> None:
        self._socket.close()


class Observed:
    """A process that shows a node, found when this was made."""

    def __init__(self, node: str) -> None:
        """Find it.

        Raises:
            LookupError: no process of this computer shows that node.
        """
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            self._socket.connect(address(domain_of_environment(), node))
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
