"""Decoder of OctoMap's formats: occupied cells as boxes.

Format: Hornung et al., OctoMap (2013), section 5, and the file format of the OctoMap library. The tree has 16 levels,
and its cells at the lowest level have an edge of `resolution`. Nodes follow each other depth first. Bit 0 of a child's
index is its position along x, 1 along y, 2 along z.

In a binary map an inner node has two bytes, with two bits for each of its eight children, from the lowest: 0 unknown,
1 free, 2 occupied, 3 an inner node. In a full map each node has its log-odds of occupancy as a float, the colour in
three bytes if the map has colours, and one byte with a bit for each child; cells are the nodes without a child.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from moveit_msgs.msg import CollisionObject
from octomap_msgs.msg import Octomap, OctomapWithPose
from shape_msgs.msg import SolidPrimitive

from ...errors import InvalidRequestError, LimitExceededError, NotSupportedError, Value
from .world_editor import WorldEditor

DEPTH = 16
OCCUPIED, INNER = 2, 3
OCCUPIED_LOG_ODDS = 0.0  # a probability of 0.5, the default threshold of the OctoMap library
FULL_MAPS = {"OcTree": 0, "ColorOcTree": 3}  # class: bytes of a node between its log-odds and its children
MAX_CELLS = 20_000
MAX_BYTES = 4_000_000
NAME = "octomap"
STAGE = "octomap"


@dataclass(frozen=True)
class Cell:
    """An occupied cube: centre and edge [m]."""

    center: tuple[float, float, float]
    edge: float


def occupied_cells(message: Octomap) -> list[Cell]:
    """Return the occupied cells of a map.

    Cells of a map with probabilities are occupied from 0.5 on.

    Raises:
        NotSupportedError: A binary map of a class other than OcTree, or a full one other than OcTree and ColorOcTree.
        InvalidRequestError: The data end too early or late, or the resolution is not a positive number.
        LimitExceededError: Too many bytes or occupied cells.
    """
    kind = message.id or "OcTree"
    if kind not in (("OcTree",) if message.binary else FULL_MAPS):
        text = f"octomap is {'a binary' if message.binary else 'a full'} map of class {kind!r}"
        known = "'OcTree'" if message.binary else " or ".join(map(repr, FULL_MAPS))
        raise NotSupportedError(f"{text}, expected {known}", stage=STAGE)
    if not (math.isfinite(message.resolution) and message.resolution > 0.0):
        raise InvalidRequestError(f"octomap.resolution is {message.resolution:g} m, expected above 0", stage=STAGE)
    if len(message.data) > MAX_BYTES:
        number = Value("bytes", len(message.data), MAX_BYTES)
        raise LimitExceededError("octomap has too many bytes", stage=STAGE, values=(number,))
    data = bytes(value & 0xFF for value in message.data)
    cells: list[Cell] = []
    used = 0
    found = (
        _binary_cells(data, message.resolution)
        if message.binary
        else _full_cells(data, message.resolution, FULL_MAPS[kind])
    )
    for cell, read in found:
        used = read
        if cell is not None:
            cells.append(cell)
        if len(cells) > MAX_CELLS:
            number = Value("occupied cells", len(cells), MAX_CELLS)
            text = "octomap has too many occupied cells; use a coarser resolution"
            raise LimitExceededError(text, stage=STAGE, values=(number,))
    if used != len(data):
        raise InvalidRequestError(f"octomap has {len(data)} bytes, and its tree ends after {used}", stage=STAGE)
    return cells


def _binary_cells(data: bytes, resolution: float) -> Iterator[tuple[Cell | None, int]]:
    """Yield the occupied cells with the number of bytes read so far, and at each inner node None."""
    if not data:
        return
    at = 0
    pending = [((0.0, 0.0, 0.0), resolution * 2**DEPTH)]  # inner nodes in reverse order: centre, edge
    while pending:
        center, edge = pending.pop()
        if at + 2 > len(data):
            raise InvalidRequestError(f"octomap ends after {len(data)} bytes, within its tree", stage=STAGE)
        bits = int.from_bytes(data[at : at + 2], "little")
        at += 2
        yield None, at
        inner: list[tuple[tuple[float, float, float], float]] = []
        for child in range(8):
            kind = bits >> 2 * child & 3
            if kind not in (OCCUPIED, INNER):
                continue
            if kind == OCCUPIED:
                yield Cell(_child_center(center, edge, child), edge / 2.0), at
                continue
            _require_level(edge, 3.0 * resolution)
            inner.append((_child_center(center, edge, child), edge / 2.0))
        pending.extend(reversed(inner))


def _full_cells(data: bytes, resolution: float, skipped: int) -> Iterator[tuple[Cell | None, int]]:
    """Yield the occupied cells with the number of bytes read so far, and None for any other node. skipped: bytes of a
    node between its log-odds and its children."""
    if not data:
        return
    at, size = 0, struct.calcsize("<f") + skipped + 1
    pending = [((0.0, 0.0, 0.0), resolution * 2**DEPTH)]  # nodes in reverse order: centre, edge
    while pending:
        center, edge = pending.pop()
        if at + size > len(data):
            raise InvalidRequestError(f"octomap ends after {len(data)} bytes, within its tree", stage=STAGE)
        (log_odds,) = struct.unpack_from("<f", data, at)
        if math.isnan(log_odds):
            raise InvalidRequestError(f"octomap has a node at byte {at} whose log-odds are not a number", stage=STAGE)
        children = data[at + size - 1]
        at += size
        yield (Cell(center, edge) if not children and log_odds >= OCCUPIED_LOG_ODDS else None), at
        if children:
            _require_level(edge, 1.5 * resolution)
        pending.extend((_child_center(center, edge, i), edge / 2.0) for i in reversed(range(8)) if children >> i & 1)


def _child_center(center: tuple[float, float, float], edge: float, child: int) -> tuple[float, float, float]:
    """Return the centre of a child of the cube of a node [m]."""
    x, y, z = (c + edge * (0.25 if child >> axis & 1 else -0.25) for axis, c in enumerate(center))
    return x, y, z


def _require_level(edge: float, min_edge: float) -> None:
    """Check that a node is large enough to have inner children (binary map) or children (full map)."""
    if edge < min_edge:
        raise InvalidRequestError(f"octomap has more than {DEPTH} levels", stage=STAGE)


def add_octomap(editor: WorldEditor, message: OctomapWithPose) -> None:
    """Replace the body "octomap" by the occupied cells of a map; a map without data leaves it as it is, and one
    without occupied cells removes it.

    Raises:
        RobotCellError: The map cannot be used.
    """
    if not message.octomap.data:
        return
    cells = occupied_cells(message.octomap)
    if not cells:
        if NAME in editor.free:
            editor.remove_body(NAME)
        return
    item = CollisionObject(id=NAME, operation=CollisionObject.ADD, pose=message.origin)
    item.header.frame_id = message.header.frame_id or message.octomap.header.frame_id
    item.header.stamp = message.header.stamp
    for cell in cells:
        item.primitives.append(SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[cell.edge] * 3))
        pose = type(message.origin)()
        pose.position.x, pose.position.y, pose.position.z = cell.center
        item.primitive_poses.append(pose)
    editor.world_object(item, "world.octomap")
