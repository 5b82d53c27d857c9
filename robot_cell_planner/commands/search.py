"""Where a command searched the running nodes that did not answer. Needs no library."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import ServiceUnavailableError

REMEDY = (
    "Check names and domain: `robot_cell up` prints the ROS_DOMAIN_ID of its nodes, which has to be set in this shell, "
    "too; give their namespace by @running/NAMESPACE in place of a cell file, else by --namespace."
)


@contextmanager
def searched(namespace: str) -> Iterator[None]:
    """Add namespace and domain to errors about nodes that do not answer."""
    try:
        yield
    except ServiceUnavailableError as error:
        if type(error) is not ServiceUnavailableError:  # the node was there
            raise
        domain = os.environ.get("ROS_DOMAIN_ID")
        place = f"/{namespace.strip('/')}, {f'ROS_DOMAIN_ID={domain}' if domain else 'ROS_DOMAIN_ID not set (0)'}"
        error.remedy = REMEDY
        raise error.with_message(f"{error.message} Searched in namespace {place}") from error
