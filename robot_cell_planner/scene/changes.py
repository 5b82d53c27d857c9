"""Scene changes: operations that are applied to a cell and its state as an atomic list.

Every operation is a value with an `apply` method. A list of operations is applied completely or not at all, and gives
the same result for the same scene in every process. The operations are in `state_changes` (poses, attachments, joints),
`model_changes` (models) and `allowed_collision_changes` (allowed collisions).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

from ..errors import InvalidRequestError, InvalidValueError, RobotCellError
from ..model.arguments import public
from ..model.shown_values import show
from ..system.steps import returned
from .scene import Scene, WorldPose


class Change(Protocol):
    """One operation."""

    def apply(self, scene: Scene, world_pose: WorldPose) -> Scene:
        """Return the scene after the operation. `world_pose` computes the world pose of a frame."""
        ...


@public
def apply_changes(scene: Scene, changes: Sequence[Change], world_pose: WorldPose) -> Scene:
    """Return the scene after applying all changes in order. The given scene is not modified.

    Raises:
        InvalidValueError: An item of `changes` is not a change.
        RobotCellError: The error of the first change that fails; its stage gives the index and type of the change.
        StateError, FrameCycleError: The resulting state does not match the cell.
    """
    return returned(apply_changes_in_steps(scene, changes, world_pose))


def apply_changes_in_steps(
    scene: Scene, changes: Sequence[Change], world_pose: WorldPose
) -> Generator[None, None, Scene]:
    """As `apply_changes`, with a step after each change."""
    for index, change in enumerate(changes):
        if not callable(getattr(change, "apply", None)):
            text = f"changes[{index}] is {show(change)}, expected a change such as Move"
            raise InvalidValueError(text, subjects=("changes",))
        try:
            scene = change.apply(scene, world_pose)
        except ValueError as error:  # includes the value errors of this package
            raise InvalidRequestError(str(error), stage=f"change {index} ({type(change).__name__})") from error
        except RobotCellError as error:
            error.stage = f"change {index} ({type(change).__name__})"
            raise
        yield
    scene.cell.check_state(scene.state)
    return scene
