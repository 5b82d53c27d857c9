"""The check of a target before planning: what a group carries against what stands, the robot left out.

It needs no configuration, and it is not complete: a target that passes may still be out of reach or blocked.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from ..cell.cell import RobotCell
from ..cell.frames import FrameTree
from ..cell.pose import Pose
from ..cell.state import RobotCellState
from .arrangement import arrangement
from .findings import pairs_among
from .report import CollisionReport
from .rules import DEFAULT_OPTIONS, CollisionOptions, Step

STEPS = (Step.CC4, Step.CC5, Step.CC6)


class TargetChecker:
    """Tools and bodies that a planning group carries in a state, to be held against the stationary things
    elsewhere.

    Joints of tools stay as the state has them.
    """

    def __init__(
        self,
        cell: RobotCell,
        state: RobotCellState,
        group: str = "",
        *,
        engine: str = "coal",
        options: CollisionOptions = DEFAULT_OPTIONS,
    ) -> None:
        """Raises:
        UnknownNameError: no such group or engine.
        ModelError: the group has no tip link.
        """
        steps = tuple(step for step in STEPS if step in options.steps)
        options = CollisionOptions(options.extra_margin, steps)
        model, self._arrangement = arrangement(cell, state, engine, options)
        table, book = self._arrangement.table, self._arrangement.book
        tip = cell.tip_link(group)
        tree = FrameTree(cell, state)
        carried = {i for i in book.moving if tip in tree.ancestors(book.owners[i].name)}
        self._carried = np.isin(table.owners, sorted(carried))
        self._pairs = sum(
            len(row.owners) * sum(1 for partner in row.partners if partner.owner in carried) for row in book.static_rows
        )
        q = model.expand(model.configuration(state))
        data = model.mechanisms.pin_model.createData()
        pin.forwardKinematics(model.mechanisms.pin_model, data, q)
        at = model.frame(tip)
        tip_T_world = (data.oMi[at.joint] * at.placement).inverse().homogeneous
        self._home = self._arrangement.engine.place(q)
        self._tip_T_solids = tip_T_world @ self._home

    def report(self, world_T_tip: Pose, max_pairs: int = 0) -> CollisionReport:
        """What collides with the tip link of the group at a pose in the world; max_pairs: 0 for all."""
        table, engine = self._arrangement.table, self._arrangement.engine
        moving = self._carried[: table.moving_count]
        poses = self._home.copy()
        poses[moving] = world_T_tip.matrix @ self._tip_T_solids[moving]
        engine.place_at(poses)
        near = table.candidates(poses)
        keep = self._carried[near.first] & (near.second >= table.moving_count)
        found = pairs_among(table, engine, near.chosen(keep), max_pairs)
        return CollisionReport(found, self._pairs, engine.name, self._arrangement.decomposed)

    def in_collision(self, world_T_tip: Pose) -> bool:
        """Whether anything that the group carries collides there."""
        return self.report(world_T_tip, 1).in_collision
