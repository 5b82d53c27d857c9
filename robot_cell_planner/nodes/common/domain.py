"""Selection of a ROS domain that is not in use on this machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Domains with ports below the ephemeral range of Linux. 0 is the default domain of ROS.
FREE_TO_CHOOSE = range(1, 102)
FIRST_PORT, PORTS_PER_DOMAIN = 7400, 250
UDP_TABLES = (Path("/proc/net/udp"), Path("/proc/net/udp6"))


@dataclass(frozen=True)
class Domain:
    """A ROS_DOMAIN_ID. A reserved one belongs to this process until it ends or closes the reservation."""

    number: int
    reservation: socket.socket | None = None

    def close(self) -> None:
        """Release a reserved domain."""
        if self.reservation is not None:
            self.reservation.close()


class NoFreeDomainError(RuntimeError):
    """All domains are in use."""


def reserve_domain() -> Domain:
    """Reserve a domain without participants on this machine.

    Processes that use this function never select the same domain: each binds a name in the abstract socket namespace,
    which is released with the process. Other participants are detected by the ports on which they listen.

    Raises:
        NoFreeDomainError: All are in use.
    """
    offset = os.getpid() % len(FREE_TO_CHOOSE)
    for number in (*FREE_TO_CHOOSE[offset:], *FREE_TO_CHOOSE[:offset]):
        reservation = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            reservation.bind(f"\0robot_cell_planner/ros_domain/{number}")
        except OSError:
            reservation.close()
            continue
        if not _has_participants(number):
            return Domain(number, reservation)
        reservation.close()
    raise NoFreeDomainError(
        f"all ROS domains from {FREE_TO_CHOOSE[0]} to {FREE_TO_CHOOSE[-1]} are in use on this machine: "
        f"set ROS_DOMAIN_ID to share one"
    )


def _has_participants(number: int) -> bool:
    """Return whether a process of this computer listens on any port of a domain (7400 + 250 d and the 249 after it,
    DDSI-RTPS 2.3, section 9.6.1.1). Participants restricted to this computer have only unicast ports, not the multicast
    port of the domain."""
    ports = range(FIRST_PORT + PORTS_PER_DOMAIN * number, FIRST_PORT + PORTS_PER_DOMAIN * (number + 1))
    return any(port in ports for port in _udp_ports())


def _udp_ports() -> Iterator[int]:
    """Return the ports of all UDP sockets in this network namespace (proc(5), /proc/net/udp)."""
    for table in UDP_TABLES:
        with suppress(FileNotFoundError):  # a kernel without IPv6
            for line in table.read_text().splitlines()[1:]:
                yield int(line.split()[1].rpartition(":")[2], 16)
