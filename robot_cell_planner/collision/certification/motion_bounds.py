"""Motion bounds: which objects the variables of a checker move, and how fast the objects approach one another.

The bounds are those of "Adaptive dynamic collision checking" (Schwarzer, Saha and Latombe, 2005), for pairs of objects:
a joint that moves both objects as one rigid body counts for neither, a joint that moves only one of them counts for
that one, and joints that mimic the same variable add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ...errors import JointLimitError, Value
from ...kinematics.model import CellModel, cell_model
from ...system.cache import IdentityCache
from ..checker import CollisionChecker
from ..pairs.allowed_pairs import AllowedPairs
from ..pairs.objects import ObjectKind
from .arguments import STAGE
from .fixed_joints import FixedValues, fixed_values
from .joint_tree import JointPlacement, JointTree, joint_tree
from .speed_bounds import speed_bounds

Floats = NDArray[np.float64]
UNMOVED = -1  # joint of objects that no variable moves


@dataclass(frozen=True)
class ScenePair:
    """A pair of moving objects that is checked at a margin [m].

    Attributes:
        first, second: Positions of the objects in `MotionModel.moving_objects`.
        margin: Minimum distance [m].
        first_joints: Joints that move the first object only.
        second_joints: Joints that move the second object only.
    """

    first: int
    second: int
    margin: float
    first_joints: tuple[int, ...]
    second_joints: tuple[int, ...]


class _Placements(dict[int, JointPlacement]):
    """Placements of collision objects by index, computed on first use: most obstacles never need one."""

    def __init__(self, model: CellModel, tree: JointTree, allowed_pairs: AllowedPairs) -> None:
        self._model, self._tree, self._allowed_pairs = model, tree, allowed_pairs

    def __missing__(self, index: int) -> JointPlacement:
        found = self._model.frame(self._allowed_pairs.objects[index].name)
        at = self[index] = self._tree.placement_of(found.joint, found.placement.homogeneous)
        return at


class PairGroups:
    """Checked pairs of a cell by what moves them; they depend on joints and attachments, not on poses.

    Attributes:
        moving_objects: Indices in `AllowedPairs.objects` of the objects that the variables move; `number` is the
            inverse.
        pairs: Checked pairs of two moving objects.
        obstacle_margins: Margins [m] by obstacle, then by position of the moving object in `moving_objects`. Obstacles
            that are treated alike share their entry.
        fixed_pairs: (index, index, margin) of checked pairs without relative motion.
    """

    def __init__(self, allowed_pairs: AllowedPairs, tree: JointTree, placements: _Placements) -> None:
        self._objects, self._tree, self._placements = allowed_pairs.objects, tree, placements
        self.moving_objects = tuple(index for index in allowed_pairs.moving if placements[index].joint >= 0)
        self.number = {obj: number for number, obj in enumerate(self.moving_objects)}
        self.pairs: list[ScenePair] = []
        self.fixed_pairs: list[tuple[int, int, float]] = []
        self.obstacle_margins: dict[int, dict[int, float]] = {}
        for i, j, margin in allowed_pairs.moving_pairs:
            self._add_pair(i, j, margin)
        for row in allowed_pairs.static_rows:
            margins = {self.number[p.moving]: p.margin for p in row.partners if p.moving in self.number}
            if margins:
                self.obstacle_margins.update(dict.fromkeys(row.objects, margins))
            fixed = [(p.moving, p.margin) for p in row.partners if p.moving not in self.number]
            self.fixed_pairs.extend((obj, moving, margin) for obj in row.objects for moving, margin in fixed)

    def _add_pair(self, i: int, j: int, margin: float) -> None:
        first, second = self.number.get(i), self.number.get(j)
        if first is None and second is None:
            self.fixed_pairs.append((i, j, margin))
        elif first is None or second is None:
            obstacle, moving_object = (i, second) if first is None else (j, first)
            assert moving_object is not None
            self.obstacle_margins.setdefault(obstacle, {})[moving_object] = margin
        else:
            one, other = self._tree.between(self._placements[i].joint, self._placements[j].joint)
            if one or other:
                self.pairs.append(ScenePair(first, second, margin, one, other))
            else:
                self.fixed_pairs.append((i, j, margin))

    @cached_property
    def distinct_margins(self) -> tuple[dict[int, float], ...]:
        """Entries of `obstacle_margins`, each once."""
        return tuple({id(margins): margins for margins in self.obstacle_margins.values()}.values())

    @cached_property
    def fixed_links(self) -> dict[int, dict[int, float]]:
        """Entries of `obstacle_margins` for links of robots."""
        objects = self._objects
        return {index: row for index, row in self.obstacle_margins.items() if objects[index].kind is ObjectKind.LINK}


class MotionModel:
    """Kinematic tree of the joints that the variables of a checker move, and the pairs of objects in relative motion.

    The model needs no sphere approximation. It is that of values of the fixed joints nearby, on a grid, which place
    objects within `displacement` of where they are, see `fixed_joints`. Its bounds hold for the values themselves.

    Attributes:
        values: Values of all variables of the cell (n,) [rad or m]: those of fixed joints on the grid, others 0.
        placements: By index in `AllowedPairs.objects`, the joint that each object is fixed to.
        groups: See `PairGroups`, as are `moving_objects`, `number`, `pairs`, `obstacle_margins` and `fixed_pairs`.
    """

    def __init__(self, model: CellModel, checker: CollisionChecker, fixed: FixedValues) -> None:
        self.allowed_pairs: AllowedPairs = checker.allowed_pairs
        self.variables = checker.variables
        self.values, self._displacements = fixed.values.copy(), fixed.displacements
        self.values[model.indices(checker.variables)] = 0.0
        self.values.setflags(write=False)
        self.tree = joint_tree(model, checker.variables, fixed.values)
        self.placements = _Placements(model, self.tree, self.allowed_pairs)
        objects = (self.allowed_pairs, model.mechanisms)
        make = partial(PairGroups, self.allowed_pairs, self.tree, self.placements)
        self.groups = _groups.get(objects, checker.variables, make)
        self.moving_objects, self.number = self.groups.moving_objects, self.groups.number
        self.pairs, self.fixed_pairs = self.groups.pairs, self.groups.fixed_pairs
        self.obstacle_margins = self.groups.obstacle_margins
        self._prismatic_joints = [joint for joint in self.tree.joints if not joint.revolute]
        self._pair_bounds: dict[tuple[int, int], Floats] = {}

    @property
    def moves_pairs(self) -> bool:
        """Return whether the variables move any checked pair of objects relative to each other."""
        return bool(self.pairs or self.obstacle_margins)

    @cached_property
    def largest_margin(self) -> float:
        """Maximum margin of the pairs in relative motion [m]; 0 if there are none."""
        margins = [pair.margin for pair in self.pairs]
        margins += [margin for partners in self.groups.distinct_margins for margin in partners.values()]
        return max(margins, default=0.0)

    @cached_property
    def speed_bounds(self) -> Floats:
        """Maximum displacement of any point of each moving object per unit of each joint (objects, joints) [m per rad,
        m per m]."""
        found = np.zeros((len(self.moving_objects), len(self.tree.joints)))
        for number, index in enumerate(self.moving_objects):
            at, shapes = self.placements[index], self.allowed_pairs.objects[index].shapes
            chain = self.tree.chain(at.joint)
            found[number] = speed_bounds(shapes, at.placement.tobytes(), chain, len(self.tree.joints))
            found[number, [joint for joint, revolute, *_ in chain if revolute]] += self.displacement(index)
        found.setflags(write=False)
        return found

    def displacement(self, index: int) -> float:
        """Return the maximum distance of the points of an object, by index in `AllowedPairs.objects`, from where the
        model places them [m]."""
        return self._displacements.get(index, 0.0)

    def displacements_of(self, indices: NDArray[np.intp]) -> Floats:
        """Return the `displacement` of objects (n,) [m], by index in `AllowedPairs.objects`."""
        found = np.zeros(len(self.allowed_pairs.objects))
        found[[*self._displacements]] = [*self._displacements.values()]
        return found[indices]

    @cached_property
    def displacements(self) -> Floats:
        """Maximum `displacement` of the moving objects that are fixed to each joint (joints,) [m]; read-only."""
        found = np.zeros(len(self.tree.joints))
        joints = [self.placements[index].joint for index in self.moving_objects]
        np.maximum.at(found, joints, [self.displacement(index) for index in self.moving_objects])
        found.setflags(write=False)
        return found

    def prismatic_excess(self, q: Floats) -> Value | None:
        """Return the first prismatic joint that a configuration (dof,) moves beyond its limits, or None.

        No motion bound holds beyond the limits.
        """
        for joint in self._prismatic_joints:
            value = joint.multiplier * float(q[joint.variable]) + joint.offset
            if not joint.low <= value <= joint.high:
                limit = joint.low if value < joint.low else joint.high
                return Value(self.variables[joint.variable], value, limit, "m")
        return None

    def within_prismatic_limits(self, *configurations: Floats) -> bool:
        """Return whether configurations (dof,) keep all prismatic joints within their limits, beyond which no
        motion bound holds."""
        if not self._prismatic_joints:  # called several times for each motion
            return True
        return all(self.prismatic_excess(q) is None for q in configurations)

    def check_prismatic_limits(self, *configurations: Floats) -> None:
        """Check that configurations (dof,) keep all prismatic joints within their limits.

        Raises:
            JointLimitError: One is beyond; the error names the joint and its value.
        """
        for beyond in filter(None, map(self.prismatic_excess, configurations)):
            text = f"a motion takes joint {beyond.name} beyond its limits"
            raise JointLimitError(text, stage=STAGE, subjects=(beyond.name,), values=(beyond,))

    def pair_bound(self, i: int, j: int) -> Floats:
        """Return the maximum approach of two objects, by index in `AllowedPairs.objects`, per unit of each joint.

        The array is (joints,) [m per rad or m].
        """
        found = self._pair_bounds.get((i, j))
        if found is None:
            found = self._pair_bounds[i, j] = self._find_pair_bound(i, j)
        return found

    def _find_pair_bound(self, i: int, j: int) -> Floats:
        one, other = self.tree.between(self.placements[i].joint, self.placements[j].joint)
        found = np.zeros(len(self.tree.joints))
        if i in self.number:
            found[[*one]] = self.speed_bounds[self.number[i]][[*one]]
        if j in self.number:
            found[[*other]] = self.speed_bounds[self.number[j]][[*other]]
        return found

    @cached_property
    def approach_bounds(self) -> Floats:
        """Maximum approach of any checked pair per unit of each variable, (dof,) [m per rad or m]; read-only.

        On a motion, two objects approach each other by at most the sum over the variables of bound times displacement.
        """
        rows = [self.speed_bounds[m] for partners in self.groups.distinct_margins for m in partners]
        moving = self.moving_objects
        rows += [self.pair_bound(moving[pair.first], moving[pair.second]) for pair in self.pairs]
        bounds = np.zeros(len(self.variables))
        if rows:
            gains = np.zeros((len(self.tree.joints), len(self.variables)))
            for index, joint in enumerate(self.tree.joints):
                gains[index, joint.variable] = abs(joint.multiplier)
            bounds = (np.unique(np.array(rows), axis=0) @ gains).max(axis=0)
        bounds.setflags(write=False)
        return bounds


_models: IdentityCache[MotionModel] = IdentityCache(size=64)
_on_grid: IdentityCache[MotionModel] = IdentityCache(size=64)
_groups: IdentityCache[PairGroups] = IdentityCache(size=64)


def motion_model(checker: CollisionChecker) -> MotionModel:
    """Return the motion model of a checker, shared by checkers with equal pairs and variables whose other joints have
    values that differ little.

    The same pairs mean the same attachments: checkers that share them differ only in the poses of stationary bodies.
    """
    model = cell_model(checker.cell, checker.state)
    objects, key = (checker.allowed_pairs, model.mechanisms), (checker.variables, checker.fixed_values)
    return _models.get(objects, key, partial(_model_on_grid, checker, model))


def _model_on_grid(checker: CollisionChecker, model: CellModel) -> MotionModel:
    allowed_pairs, variables = checker.allowed_pairs, checker.variables
    fixed = fixed_values(model, allowed_pairs, variables, model.configuration(checker.state))
    # Only the values of joints that the variables do not move matter.
    values = np.delete(fixed.values, model.indices(variables)).tobytes()
    key = variables, values, bool(fixed.displacements)
    return _on_grid.get((allowed_pairs, model.mechanisms), key, lambda: MotionModel(model, checker, fixed))


def checker_at(checker: CollisionChecker, values: Floats) -> CollisionChecker:
    """Return a checker that differs in the values of all variables of the cell (n,) [rad or m]."""
    state = cell_model(checker.cell, checker.state).with_configuration(checker.state, values)
    return CollisionChecker(checker.cell, state, checker.variables, engine=checker.engine, options=checker.options)


def rigid_bodies(checker: CollisionChecker) -> NDArray[np.intp]:
    """Return the rigid body of each collision geometry (n,): those of one are not moved relative to each other by the
    variables of the checker."""
    geometry_model, placements = checker.geometry_model, motion_model(checker).placements
    moving = geometry_model.object_indices[: geometry_model.moving_count]
    found = np.full(len(geometry_model.geometries), UNMOVED, dtype=np.intp)
    found[: len(moving)] = [placements[index].joint for index in moving.tolist()]
    return found
