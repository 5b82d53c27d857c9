"""A cell that a request to load one contains as a message."""

from __future__ import annotations

from robot_cell_planner.msg import RobotCell as CellMessage

from ...io.common.resources import ResourceRoots
from ...io.import_files import check_prefix
from ...io.scene_import.imported import Imported, with_prefix
from ...model.frames import FrameTree
from ...model.value import WORLD
from ...scene.model_changes import AddFrame
from ..conversions.models import ModelReader


def received_cell(
    message: CellMessage, prefix: str, models: ModelReader, roots: ResourceRoots
) -> tuple[Imported, list[AddFrame]]:
    """Return the cell of a message with its default state, and the changes that add its frames relative to others.

    prefix: Put before every name; that of a frame that the cell does not have, which others are relative to, remains.

    Raises:
        InvalidRequestError: No name can begin with the prefix.
        RobotCellError: A malformed model; the message names the field.
    """
    check_prefix(prefix)
    plain, related = models.split_frames(message, models.cell(message, "cell"))
    found = Imported(plain, plain.default_state())
    if not prefix:
        return found, related
    own = {*FrameTree(plain, found.state), *(frame.name for frame in related)} - {WORLD}

    def named(name: str) -> str:
        return prefix + name if name in own else name

    renamed = [AddFrame(named(f.name), named(f.attached_to), f.pose, named(f.relative_to)) for f in related]
    return with_prefix(found, prefix, roots), renamed
