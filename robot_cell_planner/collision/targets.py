"""Collision check of a Cartesian target before planning: end effector and attached bodies against stationary objects.

The check needs no configuration and ignores the robot's own links. It is a necessary condition only: a target that
passes may still be unreachable or blocked.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from ..errors import TargetModeMismatchError
from ..kinematics.forward import frame_matrix
from ..kinematics.ik.problem import free_targets, target_matrix
from ..kinematics.targets import Target, target_frame
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.frames import FrameTree
from ..model.pose import Pose
from ..model.state import RobotCellState
from .attachment_topology import topology_of
from .contact_results import pairs_among
from .engines.base import Floats
from .pairs.allowed_pairs import DEFAULT_OPTIONS, AllowedPairs, CheckedPair, CollisionOptions, PairType, SkippedPair
from .report import CollisionReport

PAIR_TYPES = (PairType.BODY_BODY, PairType.TOOL_BODY, PairType.TOOL_TOOL)
ROTATIONS = 24  # number of free rotations of a target that are checked
MAX_LISTED = 100_000


class TargetChecker:
    """Check the tools and attached bodies of a planning group against the stationary objects of a cell.

    Joints of tools keep the values of the state. `allowed_pairs`: allowed pairs of the check.
    """

    @public
    def __init__(
        self,
        cell: RobotCell,
        state: RobotCellState,
        group: str = "",
        *,
        engine: str = "coal",
        options: CollisionOptions = DEFAULT_OPTIONS,
    ) -> None:
        """Create a checker for the objects fixed to the tip link of a planning group.

        Raises:
            UnknownNameError: The group or the engine does not exist.
            ModelError: The group has no tip link.
        """
        pair_types = tuple(kind for kind in PAIR_TYPES if kind in options.pair_types)
        options = CollisionOptions(options.extra_margin, pair_types)
        self._cell, self._state, self._group = cell, state, group
        model, self._topology = topology_of(cell, state, engine, options)
        geometry_model, allowed_pairs = self._topology.geometry_model, self._topology.allowed_pairs
        self.allowed_pairs: AllowedPairs = allowed_pairs
        tip = cell.tip_link(group)
        self._tree = FrameTree(cell, state)
        self._tip = tip
        self._attached_objects = {
            i for i in allowed_pairs.moving if tip in self._tree.ancestors(allowed_pairs.objects[i].name)
        }
        self._attached = np.isin(geometry_model.object_indices, sorted(self._attached_objects))
        self._pairs = sum(
            len(row.objects) * sum(1 for partner in row.partners if partner.moving in self._attached_objects)
            for row in allowed_pairs.static_rows
        )
        q = model.expand(model.configuration(state))
        self._world_T_tip: Floats = frame_matrix(cell, state, tip)
        self._home = self._topology.engine.place(q)
        self._tip_T_geometries = np.linalg.inv(self._world_T_tip) @ self._home

    def report(self, world_T_tip: Pose, max_pairs: int = 0, *, verbose: bool = False) -> CollisionReport:
        """Report collisions with the tip link of the group at a pose in the world frame.

        Args:
            world_T_tip: Pose of the tip link in the world frame.
            max_pairs: Stop after this number of colliding pairs; 0: report all.
            verbose: Also list all checked pairs, and all skipped pairs of an attached and a stationary object with the
                reason (the first 100,000 of each).
        """
        return self._report(world_T_tip.matrix, max_pairs, verbose)

    def report_target(self, target: Target, max_pairs: int = 0, *, verbose: bool = False) -> CollisionReport:
        """Report collisions at a target; arguments as in `report`.

        A target with free rotations is checked at the one that rotates the frame least, and then at 24 others. The
        report is that of the first rotation without collision, or of the first rotation if all collide.

        Raises:
            TargetModeMismatchError: The state does not support the mode of the target, or the target frame is not fixed
                to the tip link of the group.
            UnknownNameError: A frame of the target does not exist.
        """
        reports: list[CollisionReport] = []
        for world_T_tip in self._tip_poses(target):
            reports.append(self._report(world_T_tip, max_pairs, verbose))
            if not reports[-1].in_collision:
                return reports[-1]
        return reports[0]

    def in_collision(self, world_T_tip: Pose) -> bool:
        """Return whether any attached object collides at a pose of the tip link in the world frame."""
        return self.report(world_T_tip, 1).in_collision

    def _tip_poses(self, target: Target) -> Iterator[Floats]:
        """Yield poses (4, 4) of the tip link for a target, one for each rotation that the target leaves free."""
        cell, state = self._cell, self._state
        frame = target_frame(cell, state, self._group, target.mode, target.frame)
        if frame != self._tip and self._tip not in self._tree.ancestors(frame):
            raise TargetModeMismatchError(
                f"frame {frame} is not fixed to link {self._tip}, which its target does not determine",
                subjects=(frame, self._tip),
            )
        world_T_frame = frame_matrix(cell, state, frame)
        frame_T_tip = np.linalg.inv(world_T_frame) @ self._world_T_tip
        matrix = target_matrix(cell, state, target, world_T_frame)
        if not target.free_axes:
            yield matrix @ frame_T_tip
            return
        for turned in free_targets(matrix, world_T_frame, target.free_axes, ROTATIONS):
            yield turned @ frame_T_tip

    def _report(self, world_T_tip: Floats, max_pairs: int, verbose: bool) -> CollisionReport:
        geometry_model, engine, allowed_pairs = self._topology.geometry_model, self._topology.engine, self.allowed_pairs
        moving = self._attached[: geometry_model.moving_count]
        poses = self._home.copy()
        poses[moving] = world_T_tip @ self._tip_T_geometries[moving]
        engine.place_at(poses)
        near = geometry_model.candidates(poses)
        keep = self._attached[near.first] & (near.second >= geometry_model.moving_count)
        found = pairs_among(geometry_model, engine, geometry_model.in_order(near.chosen(keep)), max_pairs)
        total = len(allowed_pairs.objects) * (len(allowed_pairs.objects) - 1) // 2
        return CollisionReport(
            found,
            self._pairs,
            engine.name,
            self._topology.decomposed,
            tuple(pair for pair in allowed_pairs.checked() if self._concerns(pair))[:MAX_LISTED] if verbose else (),
            tuple(islice(filter(self._concerns, allowed_pairs.skipped()), MAX_LISTED)) if verbose else (),
            total - self._pairs,
        )

    def _concerns(self, pair: CheckedPair | SkippedPair) -> bool:
        """Return whether one object of a pair is attached to the tip link and the other is stationary."""
        first, second = (self.allowed_pairs.by_name[name] for name in (pair.first, pair.second))
        return any(
            one.index in self._attached_objects and not other.moves for one, other in ((first, second), (second, first))
        )
