"""Where a command searched the running nodes that did not answer. Needs no library."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from ..errors import ServiceUnavailableError

REMEDY = (
    "Check names and domain: `robot_cell up` prints the ROS_DOMAIN_ID of its nodes, which has to be set in this shell, "
    "too; give their namespace by @running/NAMESPACE in place of a cell file, else by --namespace."
)


@contextmanager
def searched(namespace: str, of_cells: Callable[[], Collection[str]]) -> Iterator[None]:
    """Add namespace and domain to errors about nodes that do not answer, and where cells run instead.

    of_cells: Returns the namespaces of running cells.
    """
    try:
        yield
    except ServiceUnavailableError as error:
        if type(error) is not ServiceUnavailableError:  # the node was there
            raise
        domain = os.environ.get("ROS_DOMAIN_ID")
        place = f"/{namespace.strip('/')}, {f'ROS_DOMAIN_ID={domain}' if domain else 'ROS_DOMAIN_ID not set (0)'}"
        error.remedy = REMEDY
        others = sorted({f"/{other.strip('/')}" for other in of_cells()} - {f"/{namespace.strip('/')}"})
        cells = f"Cells run in namespace {', '.join(others)}. " if others else ""
        raise error.with_message(f"{error.message} {cells}Searched in namespace {place}") from error
