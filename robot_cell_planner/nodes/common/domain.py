"""Choosing a ROS domain that nobody on this machine uses."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Domains whose ports stay below the range that Linux hands out to clients. 0 is everybody's default.
FREE_TO_CHOOSE = range(1, 102)
FIRST_PORT, PORTS_PER_DOMAIN = 7400, 250
UDP_TABLES = (Path("/proc/net/udp"), Path("/proc/net/udp6"))


@dataclass(frozen=True)
class Domain:
    """A ROS_DOMAIN_ID. A reserved one is this process's until it ends or closes the reservation."""

    number: int
    reservation: socket.socket | None = None

    def close(self) -> None:
        """Give a reserved domain back."""
        if self.reservation is not None:
            self.reservation.close()


class NoFreeDomainError(RuntimeError):
    """All domains are in use."""


def reserve_domain() -> Domain:
    """Reserve a domain in which no process of this machine takes part.

    Processes that choose with this function never choose the same one: each holds a name in the abstract socket
    namespace, which ends with the process. Participants started otherwise are known by the ports that they listen on.

    Raises:
        NoFreeDomainError: all are in use.
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
    """Whether a process of this computer listens on any port of a domain (7400 + 250 d and the 249 after it, DDSI-RTPS
    2.3, section 9.6.1.1). Participants that keep to this computer have ports of their own alone, not the one that all
    of a domain share."""
    ports = range(FIRST_PORT + PORTS_PER_DOMAIN * number, FIRST_PORT + PORTS_PER_DOMAIN * (number + 1))
    return any(port in ports for port in _udp_ports())


def _udp_ports() -> Iterator[int]:
    """The ports of all UDP sockets in this network namespace (proc(5), /proc/net/udp)."""
    for table in UDP_TABLES:
        with suppress(FileNotFoundError):  # a kernel without IPv6
            for line in table.read_text().splitlines()[1:]:
                yield int(line.split()[1].rpartition(":")[2], 16)
