"""Preparation of a computer for a cell: compiled kernels, and the sphere models of what moves, cached on disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ...collision.sphere_model.report import graspable, prepare_sphere_models
from ...kinematics.ik import warm_up as kinematics
from ...model.arguments import public
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ...scene.scene import Scene
from ..cartesian import warm_up as cartesian
from ..search import warm_up as search
from .preparation import prepare_group

KERNELS: tuple[tuple[str, Callable[[], None]], ...] = (
    ("kernels of kinematics", kinematics.warm_up),
    ("kernels of certificates and search", search.warm_up),
    ("kernels of Cartesian planning", cartesian.warm_up),
)
OnProgress = Callable[[str, float], None]


@dataclass(frozen=True)
class WarmUp:
    """Result of `warm_up`.

    Attributes:
        spheres: Number of spheres of all objects that move or may be grasped.
        seconds: Time that each stage took [s], by its name.
        warnings: Objects whose spheres are coarser than requested, with the reason.
    """

    spheres: int
    seconds: dict[str, float]
    warnings: tuple[str, ...]


def _silent(text: str, fraction: float) -> None:
    """Discard the progress."""


@public
def warm_up(cell: RobotCell, state: RobotCellState, on_progress: OnProgress = _silent) -> WarmUp:
    """Compile all kernels, compute the sphere models of a cell, and build the models of its groups.

    Kernels and sphere models are cached on disk, so that other processes of this user load them.

    Args:
        on_progress: Called with what is done next, and the fraction that is done [0 to 1].

    Raises:
        GeometryError: A collision shape cannot be read.
        RobotCellError: A group cannot be checked for collisions.
    """
    groups = [name for robot in cell.robots.values() for name in robot.groups]
    stages, seconds = len(KERNELS) + 1 + len(groups), dict[str, float]()

    def begin(text: str) -> float:
        on_progress(text, len(seconds) / stages)
        return time.perf_counter()

    def sphere_progress(name: str, done: int, count: int) -> None:
        on_progress(f"spheres of {name} ({done + 1} of {count})", (len(KERNELS) + done / count) / stages)

    for text, compile_kernels in KERNELS:
        began = begin(text)
        compile_kernels()
        seconds[text] = time.perf_counter() - began
    began = time.perf_counter()
    report = prepare_sphere_models(cell, bodies=graspable(cell, state), on_progress=sphere_progress)
    seconds["spheres"] = time.perf_counter() - began
    for name in groups:
        began = begin(f"models of group {name}")
        prepare_group(Scene(cell, state), name)
        seconds[f"group {name}"] = time.perf_counter() - began
    on_progress("ready", 1.0)
    return WarmUp(report.spheres, seconds, report.warnings)
