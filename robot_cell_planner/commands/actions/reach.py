"""`robot_cell reach`: which poses of a grid a robot reaches."""

from __future__ import annotations

import sys

import click

from ...collision.reach import Reach, pose_grid, reachability
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ..options import PoseNumbers
from ..reporting import echo_json
from .cells import with_cell
from .targets import frame_of, pose_of

# Character and colour of each result.
MARKS: dict[Reach, tuple[str, str | None]] = {
    Reach.REACHED: ("#", "green"),
    Reach.COLLISION: ("x", "red"),
    Reach.LIMITS: ("-", "yellow"),
    Reach.OUT_OF_REACH: (".", None),
    Reach.NOT_FOUND: ("?", "magenta"),
}


@with_cell
def reach(
    cell: RobotCell,
    state: RobotCellState,
    pose: PoseNumbers,
    reference: str,
    size: tuple[float, float, float],
    step: float,
    moved: str | None,
    free: str,
    group: str,
    as_json: bool,
) -> int:
    """Print which positions of a grid are reached."""
    poses = pose_grid(pose_of(pose), size, step)
    mode, frame = frame_of(cell, state, group, moved)
    with click.progressbar(length=len(poses), label="poses", file=sys.stderr) as bar:
        found = reachability(
            cell, state, poses, mode, group, reference, lambda _: bar.update(1), frame=frame, free_axes=free
        )
    if as_json:
        rows = zip(found.poses, found.results, found.configurations, strict=True)
        entries = [{"position": list(p.position), "result": r.value, "configuration": q} for p, r, q in rows]
        echo_json({"joints": list(found.variables), "poses": entries})
        return 0
    columns = int(size[0] / step + 1e-9) + 1
    per_layer = columns * (int(size[1] / step + 1e-9) + 1)
    for start in range(0, len(poses), per_layer):
        click.echo(f"z = {poses[start].position[2]:.3f} m")
        layer = found.results[start : start + per_layer]
        for row in reversed(range(0, per_layer, columns)):
            click.echo(" ".join(click.style(MARKS[r][0], fg=MARKS[r][1]) for r in layer[row : row + columns]))
    for result, count in found.counts().items():
        click.echo(f"{MARKS[result][0]} {result.value}: {count} of {len(poses)}")
    return 0
