"""The scene of the running nodes, which `@running` in place of a cell file selects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ..progress import Elapsed
from ..reporting import import_failure
from ..search import searched

if TYPE_CHECKING:
    from ...nodes.client.client import CellClient

NODE = "robot_cell_command"
APPEARS_WITHIN = 5.0  # [s]


def running_scene(cell_file: Path) -> tuple[RobotCell, RobotCellState]:
    """Return cell and state of the running nodes, with the joints as they are measured.

    Raises:
        NotSupportedError: There is no ROS 2.
        ServiceUnavailableError: No scene node answers.
    """
    with running_client(cell_file) as client, Elapsed("waiting for the running nodes"):
        scene, _ = client.scene(retries=0, measured=True)
    return scene.cell, scene.state


@contextmanager
def running_client(cell_file: Path) -> Iterator[CellClient]:
    """Connect to the running nodes.

    Raises:
        NotSupportedError: There is no ROS 2.
        ServiceUnavailableError: A node does not answer; the message says where it was searched.
    """
    try:
        from ...nodes.client.client import CellClient
        from ...nodes.client.inspection import namespaces_of_cells
    except ImportError as error:
        raise import_failure("the running nodes need ROS 2", error) from error
    namespace = "/".join(cell_file.parts[1:])
    with (
        CellClient(NODE, namespace, APPEARS_WITHIN) as client,
        searched(namespace, partial(namespaces_of_cells, client)),
    ):
        yield client
