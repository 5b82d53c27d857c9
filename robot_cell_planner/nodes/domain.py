"""Choosing a ROS domain that nobody on this machine uses."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

# Domains whose ports stay below the range that Linux hands out to clients. 0 is everybody's default.
FREE_TO_CHOOSE = range(1, 102)


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
    namespace, which ends with the process. Participants started otherwise are known by the discovery port that they
    listen on.

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
        if not _is_discovery_port_used(number):
            return Domain(number, reservation)
        reservation.close()
    raise NoFreeDomainError(
        f"all ROS domains from {FREE_TO_CHOOSE[0]} to {FREE_TO_CHOOSE[-1]} are in use on this machine: "
        f"set ROS_DOMAIN_ID to share one"
    )


def _is_discovery_port_used(number: int) -> bool:
    """Whether a participant listens on the domain's discovery port (7400 + 250 d, DDSI-RTPS 2.3, section 9.6.1.1)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("", 7400 + 250 * number))
        except OSError:
            return True
    return False
