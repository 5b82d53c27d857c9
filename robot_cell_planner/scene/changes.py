"""Changes of a scene: small operations, applied as one atomic list to a cell and its state.

Every operation is a value with an `apply`; a list of them applies whole or not at all, and given the same scene it
gives the same result in any process. They are in `state_changes` (where things are), `model_changes` (what is there)
and `rule_changes` (what may touch).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..errors import InvalidRequestError, RobotCellError
from ..model.arguments import public
from .scene import Scene, WorldPose


class Change(Protocol):
    """One operation."""

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        """The scene after the operation; world_pose tells where a frame is in the world."""
        ...


@public
def apply_changes(scene: Scene, changes: Sequence[Change], world_pose: WorldPose) -> Scene:
    """The scene after all changes, in their order; the given one stays as it is.

    Raises:
        RobotCellError: of the first change that cannot be applied; its stage names the change's place in the list.
    """
    for index, change in enumerate(changes):
        try:
            scene = change.apply(scene, world_pose)
        except ValueError as error:  # also those of values, which are errors of this package
            raise InvalidRequestError(str(error), stage=f"change {index} ({type(change).__name__})") from error
        except RobotCellError as error:
            error.stage = f"change {index} ({type(change).__name__})"
            raise
    scene.cell.check_state(scene.state)
    return scene
