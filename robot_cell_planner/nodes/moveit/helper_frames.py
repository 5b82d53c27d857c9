"""Named frames that exist for one request only: points of links that constraints refer to."""

from __future__ import annotations

from geometry_msgs.msg import Vector3
from moveit_msgs.msg import MoveItErrorCodes

from robot_cell_planner.msg import NamedFrame, SceneChange

from ...errors import UnknownNameError
from ...model.frames import FrameTree
from ...model.name_suggestions import unknown_name
from ...model.pose import IDENTITY, Pose
from ...scene.scene import Scene
from ..conversions.basic import pose_to_message
from .error_codes import refused_as

PREFIX = "moveit_request/frame"


class HelperFrames:
    """Frames added to the state of a request. changes: what adds them, for `StateRef.changes`."""

    def __init__(self, scene: Scene) -> None:
        self._tree = FrameTree(scene.cell, scene.state)
        self.changes: list[SceneChange] = []

    def at(self, link: str, pose: Pose = IDENTITY) -> str:
        """Return a frame at link_T_frame = `pose`: the link itself, or a helper frame.

        Raises:
            RefusedError: The link does not exist.
        """
        with refused_as(MoveItErrorCodes.INVALID_LINK_NAME):
            if link not in self._tree:
                raise UnknownNameError(unknown_name(f"link {link!r}", link, list(self._tree)), subjects=(link,))
        if pose == IDENTITY:
            return link
        name = f"{PREFIX}{len(self.changes)}"
        change = SceneChange(operation=SceneChange.ADD)
        change.models.frames = [NamedFrame(name=name, attached_to=link, pose=pose_to_message(pose))]
        self.changes.append(change)
        return name


def point_of(offset: Vector3) -> Pose:
    """Return the pose of a point of a link in the link.

    Raises:
        InvalidValueError: A coordinate is not finite.
    """
    return Pose((offset.x, offset.y, offset.z))
