"""Collision engine coal, with Pinocchio's kinematics: boolean checks by AABB trees, contacts and distances per pair."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from ..geometry.collision_geometry import CollisionGeometry, Surface
from ..geometry.geometry_model import GeometryModel
from .base import TOUCHING, DistanceResult, Floats
from .coal_large import LARGE, NEAR, LargeDistance, corrected, widening
from .coal_moving import MovingGeometries, TreeVerdict, moving_geometries, set_boolean_request
from .coal_shapes import coal_geometry
from .coal_trees import CoalTrees, changed_placements, coal_transform
from .sphere_in_cylinder import through_end
from .surface_overlap import SurfaceOverlaps, moved

MAX_CONTACTS = 256  # of triangles, unless there are more
MOST_CONTACTS = 1_000_000
FIRST_OVERLAPS = 16  # contacts of surfaces that are evaluated first, of which mostly one shows a collision
ROUNDING = 1e-7  # [m] added to a motion that is to separate two surfaces
SHORTEST = 1e-9  # [m] distance of closest points that have a direction
NEARBY = 1e-7 * np.array((0.48, 0.6, 0.64))  # [m] motion that breaks a symmetry
MAX_RETAINED = 10_000  # maximum number of cached solvers of single pairs, each with its own work space


class CoalEngine:
    """Coal engine for the geometries of a `GeometryModel`.

    model: Pinocchio model of the joints. geometries: those of coal, if there are some already.
    """

    name = "coal"
    is_exact = True
    decomposed: tuple[str, ...] = ()

    def __init__(self, model: Any, geometry_model: GeometryModel, geometries: list[Any] | None = None) -> None:
        self._geometry_model = geometry_model
        count = geometry_model.moving_count
        self._model = model
        if geometries is None:
            moving = moving_geometries(model, geometry_model)
            static = [coal_geometry(geometry) for geometry in geometry_model.geometries[count:]]
        else:
            moving, static = MovingGeometries(model, geometry_model, geometries[:count]), geometries[count:]
        self._geometries = [*moving.geometries, *static]
        self._is_surface = [isinstance(geometry, Surface) for geometry in geometry_model.geometries]
        self._transforms: list[Any] = [coal_transform(pose) for pose in geometry_model.joint_T_geometry]
        self._trees = CoalTrees(model, moving, geometry_model, self._geometries)
        self._sizes = self._trees.sizes
        self._near = NEAR if max(self._sizes, default=0.0) >= LARGE else -math.inf
        self._poses = moving.placements
        self._nowhere = [None] * count
        self._checks: dict[tuple[int, int, float], tuple[Any, Any, bool]] = {}
        self._measures: dict[tuple[int, int], Any] = {}
        self._contacts = coal.CollisionResult()
        self._nearest = coal.DistanceResult()
        self._distance_request = coal.DistanceRequest()
        self._distance_request.enable_signed_distance = True
        self._scratch = coal.Transform3s(), coal.Transform3s()
        self._placed_at: Floats | None = None
        self._given: Floats | None = None  # poses of the moving geometries, if placed by `place_at`
        self._always = self._rigid_pairs_collide()

    def of_geometries(self, geometry_model: GeometryModel, rows: Sequence[int]) -> CoalEngine:
        return CoalEngine(self._model, geometry_model, [self._geometries[row] for row in rows])

    def moved(self, geometry_model: GeometryModel) -> CoalEngine:
        """Return an engine for a model that differs in the placements of stationary geometries only.

        Both engines share their trees, which are adapted to the engine that uses them: building them takes much longer
        than moving some geometries.
        """
        found = copy.copy(self)
        found._geometry_model = geometry_model
        found._transforms = self._transforms.copy()
        for index in changed_placements(self._geometry_model, geometry_model):
            found._transforms[index] = coal_transform(geometry_model.joint_T_geometry[index])
        found._placed_at = found._given = None
        return found

    def _own_trees(self) -> CoalTrees:
        """Return the trees with the stationary geometries of this engine."""
        trees = self._trees
        if trees.geometry_model is not self._geometry_model:
            trees.show(self._geometry_model)
            self._placed_at = None
        return trees

    def _rigid_pairs_collide(self) -> bool:
        """Return whether two geometries fixed to each other collide; then every configuration collides."""
        geometry_model = self._geometry_model
        if not len(geometry_model.rigid_pairs):
            return False
        near = geometry_model.near_rigid_pairs(self.place(pin.neutral(self._model)))
        pairs = zip(geometry_model.rigid_pairs[near].tolist(), geometry_model.rigid_margins[near].tolist(), strict=True)
        return any(self.contact(i, j, margin) is not None for (i, j), margin in pairs)

    def collides(self, q: Floats) -> bool:
        if self._always:
            return True
        if not self._geometry_model.moving_count:
            return False
        verdict = self._own_trees().first_hit(q)
        self._placed_at = q
        return self._verified(q) if verdict is TreeVerdict.UNSURE else verdict is TreeVerdict.COLLIDES

    def _verified(self, q: Floats) -> bool:
        """Return the exact result for a candidate collision of triangle surfaces or large geometries.

        Coal supports no negative margin for surfaces, so the contact depth has to distinguish a touch within the
        tolerance from a collision. Distances of large geometries are corrected, see `coal_large`.
        """
        near = self._geometry_model.candidates(self.place(q))
        pairs = zip(near.first.tolist(), near.second.tolist(), near.margins.tolist(), strict=True)
        return any(self._contact(i, j, margin, FIRST_OVERLAPS) is not None for i, j, margin in pairs)

    def place(self, q: Floats) -> Floats:
        trees = self._own_trees()
        if self._placed_at is not q:
            # Use the same placements as `collides`, so that both results are identical to the last bit.
            trees.place(q)
            self._placed_at = q
        self._transforms[: self._geometry_model.moving_count] = self._nowhere
        self._given = None
        return self._poses.at(q)

    def poses(self, configurations: Floats) -> Floats:
        return self._poses.along(configurations)

    def place_at(self, poses: Floats) -> None:
        self._transforms[: self._geometry_model.moving_count] = self._nowhere
        self._given = poses

    def _transform(self, geometry: int) -> Any:
        found = self._transforms[geometry]
        if found is None:
            # Transforms are converted on demand, since most geometries are not near another one.
            given = self._given
            if given is None and self._trees.moving.placed_by is not self._geometry_model:
                self._place_again()
            found = (
                self._trees.moving.whole.objects[geometry].getTransform()
                if given is None
                else coal_transform(given[geometry])
            )
            self._transforms[geometry] = found
        return found

    def _place_again(self) -> None:
        """Place the trees as by the last call, after another engine used them."""
        q = self._placed_at
        assert q is not None
        self._own_trees().place(q)
        self._placed_at = q

    def contact(self, first: int, second: int, margin: float) -> DistanceResult | None:
        return self._contact(first, second, margin)

    def _contact(self, first: int, second: int, margin: float, enough: int = MOST_CONTACTS) -> DistanceResult | None:
        """As `contact`; enough: number of contacts of surfaces after which the deepest one decides if it collides."""
        known = self._checks.get((first, second, margin))
        check, request, surface = known or self._make_check(first, second, margin)
        if check is None:
            nearest = self.distance(first, second)
            return nearest if nearest.distance < margin - TOUCHING else None
        result = self._contacts
        result.clear()
        if not check(self._transform(first), self._transform(second), request, result):
            return None
        if surface and result.numContacts() >= MAX_CONTACTS:
            return self._contact_of_many(first, second, margin)
        if surface:
            return self._contact_of_surfaces(first, second, margin, result, enough)
        contact = result.getContact(0)
        found = _distance_result(contact.penetration_depth, contact)  # coal's depth is the signed distance
        return self._completed(first, second, found)

    def _contact_of_surfaces(
        self, first: int, second: int, margin: float, result: Any, enough: int = MOST_CONTACTS
    ) -> DistanceResult | None:
        """Return the deepest contact of a result of coal, or None if it is not below the margin. enough: as of
        `_contact`."""
        deepest = _deepest(result)
        found = _distance_result(deepest.penetration_depth, deepest)
        if found.distance < 0.0:
            found = self._overlap(first, second, found, result, enough)
        return found if found.distance < margin - TOUCHING else None

    def _overlap(self, first: int, second: int, found: DistanceResult, result: Any, enough: int) -> DistanceResult:
        """Return the deepest contact of a pair with a surface that overlaps, or its distance if coal is mistaken.

        Coal's depth of two triangles may be that of a motion within their plane. For two surfaces, the depth of a
        motion that separates them is used instead if it is beyond a touch, or if a motion of the size of a touch
        separates the whole surfaces, which shows that they only touch. Their distance is not greater than the true one.

        Args:
            found: Contact with coal's depth, for all others.
            enough: As of `_contact`.
        """
        one, other = (self._geometry_model.geometries[index] for index in (first, second))
        if not (isinstance(one, Surface) and isinstance(other, Surface)):
            return self._apart(first, second) or found
        placed, against = self._transform(first), self._transform(second)
        for count in sorted({enough, MOST_CONTACTS}):
            overlaps = SurfaceOverlaps.of(result, (one.mesh, placed), (other.mesh, against), count)
            if overlaps.depth > TOUCHING:
                return overlaps.deepest
        apart = self._apart(first, second)
        if apart is not None:
            return apart
        measure = self._measure(first, second)

        def separates(motion: Floats) -> bool:
            self._nearest.clear()
            return bool(measure(moved(placed, motion), against, self._distance_request, self._nearest) > 0.0)

        for direction in overlaps.separating_directions(TOUCHING):
            if separates(TOUCHING * direction):
                is_exact = separates((overlaps.depth + ROUNDING) * direction)
                return overlaps.deepest if is_exact else overlaps.deepest._replace(distance=-TOUCHING)
        return found

    def _apart(self, first: int, second: int) -> DistanceResult | None:
        """Return the distance of two surfaces that are apart, else None: at less than a micrometre, coal's contacts may
        be deep overlaps of triangles in one plane."""
        self._nearest.clear()
        placed, other = self._transform(first), self._transform(second)
        distance = float(self._measure(first, second)(placed, other, self._distance_request, self._nearest))
        return _distance_result(distance, self._nearest) if distance > 0.0 else None

    def _completed(self, first: int, second: int, found: DistanceResult) -> DistanceResult:
        """Return a distance or contact of coal with what is missing or wrong for overlaps."""
        if found.distance > 0.0:
            return found
        placed, other = self._transform(first), self._transform(second)
        found = through_end(*self._geometries_of(first, second), placed, other, found)
        return found if any(found.normal) else self._with_normal(first, second, found)

    def _geometries_of(self, first: int, second: int) -> tuple[CollisionGeometry, CollisionGeometry]:
        geometries = self._geometry_model.geometries
        return geometries[first], geometries[second]

    def _with_normal(self, first: int, second: int, found: DistanceResult) -> DistanceResult:
        """Return a contact with the normal and points of nearly the same placements.

        Coal finds none at symmetric ones, such as of a sphere in the middle of a cylinder, where they are ambiguous.
        """
        placed, result = self._transform(first), coal.DistanceResult()
        moved = coal.Transform3s(placed.getRotation(), placed.getTranslation() + NEARBY)
        self._measure(first, second)(moved, self._transform(second), self._distance_request, result)
        near = _distance_result(float(result.min_distance), result)
        return near._replace(distance=found.distance) if any(near.normal) else found

    def _contact_of_many(self, first: int, second: int, margin: float) -> DistanceResult | None:
        """As `contact`, of surfaces with at least `MAX_CONTACTS` pairs of triangles near each other: others may be
        deeper than the first ones, as where a fine mesh lies flat on a table."""
        if margin > 2.0 * TOUCHING:
            nearest = self.distance(first, second)
            return nearest if nearest.distance < margin - TOUCHING else None
        check, _, _ = self._make_check(first, second, margin)
        request, result = coal.CollisionRequest(), coal.CollisionResult()
        set_boolean_request(request, margin, True, widening((self._sizes[first], self._sizes[second])))
        request.enable_contact = True
        request.num_max_contacts = MOST_CONTACTS
        check(self._transform(first), self._transform(second), request, result)
        return self._contact_of_surfaces(first, second, margin, result)

    def _make_check(self, first: int, second: int, margin: float) -> tuple[Any, Any, bool]:
        surface = self._is_surface[first] or self._is_surface[second]
        request = coal.CollisionRequest()
        set_boolean_request(request, margin, surface, widening((self._sizes[first], self._sizes[second])))
        request.enable_contact = True
        request.num_max_contacts = MAX_CONTACTS if surface else 1
        check = None
        if not self._is_corrected(first, second):
            check = coal.ComputeCollision(self._geometries[first], self._geometries[second])
        if len(self._checks) >= MAX_RETAINED:
            self._checks.clear()
        self._checks[first, second, margin] = check, request, surface
        return check, request, surface

    def separation(self, first: int, second: int, poses: Floats | None = None) -> tuple[float, Floats | None]:
        # Transforms are set in place: the search for the closest state of a path asks for hundreds of distances.
        placed = self._placed(first, poses, self._scratch[0])
        other = self._placed(second, poses, self._scratch[1])
        self._nearest.clear()
        distance = float(self._measure(first, second)(placed, other, self._distance_request, self._nearest))
        if distance < self._near and self._is_corrected(first, second):
            found = self._corrected(first, second, placed, other)
            return found.distance, found.direction if found.distance > 0.0 and found.direction.any() else None
        if distance > 0.0:
            return distance, _direction(self._nearest)
        if not (self._is_surface[first] or self._is_surface[second]):
            overlap = _distance_result(distance, self._nearest)
            return through_end(*self._geometries_of(first, second), placed, other, overlap).distance, None
        if poses is not None:
            self.place_at(poses[self._poses.rows])
        return self.distance(first, second).distance, None

    def _placed(self, geometry: int, poses: Floats | None, scratch: Any) -> Any:
        """Return the transform of a geometry with the moving ones at their placements (p, 4, 4), or as placed."""
        if poses is None or geometry >= self._geometry_model.moving_count:
            return self._transform(geometry)
        pose = poses[self._poses.rows[geometry]]
        scratch.setTransform(pose[:3, :3], pose[:3, 3])
        return scratch

    def distance(self, first: int, second: int) -> DistanceResult:
        self._nearest.clear()
        placed, other = self._transform(first), self._transform(second)
        distance = float(self._measure(first, second)(placed, other, self._distance_request, self._nearest))
        if distance < self._near and self._is_corrected(first, second):
            exact = self._corrected(first, second, placed, other)
            vectors = (exact.point_first, exact.point_second, exact.direction)
            found = DistanceResult(exact.distance, *(tuple(vector.tolist()) for vector in vectors))
            return through_end(*self._geometries_of(first, second), placed, other, found)
        contact = self._touch_of_surfaces(first, second) if distance <= 0.0 else None
        found = _distance_result(distance, self._nearest) if contact is None else contact
        return self._completed(first, second, found)

    def _is_corrected(self, first: int, second: int) -> bool:
        """Return whether small distances of two geometries are corrected: both are convex, and one is large."""
        if max(self._sizes[first], self._sizes[second]) < LARGE:
            return False
        return not (self._is_surface[first] or self._is_surface[second])

    def _corrected(self, first: int, second: int, placed: Any, other: Any) -> LargeDistance:
        """Return the corrected distance of two geometries, after coal's at these transforms."""
        size = max(self._sizes[first], self._sizes[second])
        return corrected(self._measure(first, second), placed, other, self._nearest, size)

    def _measure(self, first: int, second: int) -> Any:
        """Return coal's function for the distance of two geometries."""
        measure = self._measures.get((first, second))
        if measure is None:
            measure = coal.ComputeDistance(self._geometries[first], self._geometries[second])
            if len(self._measures) >= MAX_RETAINED:
                self._measures.clear()
            self._measures[first, second] = measure
        return measure

    def _touch_of_surfaces(self, first: int, second: int) -> DistanceResult | None:
        """Return the deepest contact of a pair with a triangle surface, whose distance has no penetration depth."""
        if not (self._is_surface[first] or self._is_surface[second]):
            return None
        return self.contact(first, second, 2.0 * TOUCHING)


def _deepest(result: Any) -> Any:
    """Return the deepest contact of a result of coal."""
    deepest = result.getContact(0)
    for place in range(1, result.numContacts()):
        contact = result.getContact(place)
        if contact.penetration_depth < deepest.penetration_depth:
            deepest = contact
    return deepest


def _direction(found: Any) -> Floats | None:
    """Return the unit vector from the second closest point to the first; None if they are nearly equal. Coal's normal
    is unset for some pairs of convex geometries that are apart."""
    # Numbers of lists: arithmetic of arrays of three takes longer, for each of the distances along a path.
    (x1, y1, z1), (x2, y2, z2) = found.getNearestPoint1().tolist(), found.getNearestPoint2().tolist()
    x, y, z = x1 - x2, y1 - y2, z1 - z2
    length = math.sqrt(x * x + y * y + z * z)
    return np.array((x / length, y / length, z / length)) if length > SHORTEST else None


def _distance_result(distance: float, found: Any) -> DistanceResult:
    """Convert a contact or distance of coal, whose normal points from the first to the second geometry."""
    x, y, z = found.normal.tolist()
    if distance > 0.0 and not 0.9 < math.hypot(x, y, z) < 1.1:  # coal leaves it unset for some convex pairs
        direction = _direction(found)
        x, y, z = (0.0, 0.0, 0.0) if direction is None else (-direction).tolist()
    first, second = found.getNearestPoint1().tolist(), found.getNearestPoint2().tolist()
    return DistanceResult(distance, tuple(first), tuple(second), (-x, -y, -z))
