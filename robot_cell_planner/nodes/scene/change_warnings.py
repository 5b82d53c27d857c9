"""What the sender of a change should know about it, though it is accepted."""

from __future__ import annotations

from ...collision.pairs.pair_settings import unknown_names
from ...io.mesh.body_sizes import doubtful_sizes
from ...model.cell import RobotCell
from ...model.cell_warnings import cell_warnings
from ...model.start_limits import states_beyond_limits
from ...scene.diff import SceneDiff, apply_difference
from ...scene.scene import Scene


def change_warnings(before: Scene, difference: SceneDiff) -> list[str]:
    """Return the warnings about a change of a scene, one line each.

    They are about bodies whose size is probably in mm, what `cell_warnings` says of robots and tools that are new or
    replaced, and joints, also of named states, that the change places beyond their limits.
    """
    after = apply_difference(before, difference)
    found = [*doubtful_sizes(difference.models.bodies.values()), *cell_warnings(difference.models)]
    known_beyond = states_beyond_limits(before.cell, before.state)
    found += [text for text in states_beyond_limits(after.cell, after.state) if text not in known_beyond]
    return found


def unknown_names_warnings(cell: RobotCell) -> list[str]:
    """Return the warning about names in collision settings that a cell does not contain, if there are any."""
    unknown = unknown_names(cell)
    return [unknown_names_text(unknown)] if unknown else []


def unknown_names_text(names: tuple[str, ...]) -> str:
    """Return the text about names in collision settings that the cell does not contain."""
    listed = ", ".join(names[:10])
    return f"collision settings contain names that are not in the cell (added later, or misspelt): {listed}"
