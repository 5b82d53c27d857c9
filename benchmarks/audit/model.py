"""A cell in the auditor's own model: kinematics by Pinocchio, distances by coal, and bounds on motion of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from .description import Description
from .pairs import Pair, PairRules
from .shapes import geometries, is_surface

Floats = NDArray[np.float64]
TOUCHING = 1e-5  # [m] below its margin from which on a pair collides (docs/collision.md)
COAL = 1e-6  # error of coal's distances, in metres and as a fraction of the size of shapes
MAX_CONTACTS = 256
MOST_TRIANGLES, MOST_SUMS = 40, 1000


def directions_apart(one: Any, pose: Any, other: Any, other_pose: Any, contacts: Sequence[Any]) -> Floats:
    """Unit vectors (n, 3) along which skins in contact may come apart: normals of the triangles in contact and of pairs
    of their edges, both ways, and sums of two of these."""
    found = []
    for contact in contacts[:MOST_TRIANGLES]:
        sides = []
        for skin, placed, number in ((one, pose, contact.b1), (other, other_pose, contact.b2)):
            triangle = skin.tri_indices(number)
            corners = np.array([skin.vertex(triangle[k]) for k in range(3)]) @ placed.getRotation().T
            sides.append(np.array([corners[1] - corners[0], corners[2] - corners[1], corners[0] - corners[2]]))
            found.append(np.cross(sides[-1][0], sides[-1][1]))
        found += [np.cross(first, second) for first in sides[0] for second in sides[1]]
    lengths = np.linalg.norm(found, axis=1)
    vectors = np.array(found)[lengths > 1e-12] / lengths[lengths > 1e-12, None]
    unique = np.unique(np.round(np.concatenate((vectors, -vectors)), 4), axis=0)
    sums = unique[: len(contacts), None] + unique[None, : len(contacts)]
    sums = sums.reshape(-1, 3)
    sums = sums[np.linalg.norm(sums, axis=1) > 0.1]
    directions = np.concatenate((unique, sums[:MOST_SUMS]))
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


class AuditModel:
    """The cell of a description. `pairs`: of links; each may be several pairs of geometries, which `first`, `second`
    and `pair_of` (n,) list; `has_skin` marks those of which a side is triangles."""

    def __init__(self, cell: Description) -> None:
        self.cell = cell
        rules = PairRules(cell)
        self.pairs: list[Pair] = list(rules.pairs())
        self._model = pin.buildModelFromXML(_kinematic_urdf(cell))
        self._data = self._model.createData()
        self._shapes = pin.GeometryModel()
        self._numbers: dict[str, list[int]] = {}
        for link in rules.links:
            self._add_shapes(link)
        rows = [
            (i, j, number)
            for number, pair in enumerate(self.pairs)
            for i in self._numbers[pair.first]
            for j in self._numbers[pair.second]
        ]
        self.first, self.second, self.pair_of = np.array(rows, dtype=np.intp).reshape(-1, 3).T
        for i, j, _ in rows:
            self._shapes.addCollisionPair(pin.CollisionPair(i, j))
        self._placed = pin.GeometryData(self._shapes)
        for request in self._placed.distanceRequests:
            request.enable_signed_distance = True
        objects = list(self._shapes.geometryObjects)
        skins = np.array([is_surface(item.geometry) for item in objects], dtype=bool)
        self.has_skin = (skins[self.first] | skins[self.second]).tolist()
        self._middles = np.array([item.geometry.aabb_center for item in objects]).reshape(-1, 3)
        self.radii = np.array([float(item.geometry.aabb_radius) for item in objects])
        self._pair_list = list(zip(self.first.tolist(), self.second.tolist(), strict=True))
        self._radii_of_pairs = (self.radii[self.first] + self.radii[self.second]).tolist()
        self.margins = np.array([pair.margin for pair in self.pairs])[self.pair_of]
        self._contacts = coal.CollisionRequest()
        self._contacts.num_max_contacts = MAX_CONTACTS
        self._contacts.enable_contact = True
        self._set_up_joints()

    def _add_shapes(self, link: str) -> None:
        number = self._model.getFrameId(link, pin.FrameType.BODY)
        frame = self._model.frames[number]
        self._numbers[link] = []
        for shape in self.cell.links[link].shapes:
            placement = frame.placement * pin.SE3(shape.pose[:3, :3], shape.pose[:3, 3])
            for geometry in geometries(shape, self.cell.pieces):
                name = f"{link}#{len(self._numbers[link])}"
                item = pin.GeometryObject(name, frame.parentJoint, number, placement, geometry)
                self._numbers[link].append(self._shapes.addGeometryObject(item))

    def _set_up_joints(self) -> None:
        model, cell = self._model, self.cell
        self.joints = [str(name) for name in model.names][1:]
        self._index_q = np.array([model.joints[i + 1].idx_q for i in range(len(self.joints))], dtype=np.intp)
        self._circular = np.array([model.joints[i + 1].nq == 2 for i in range(len(self.joints))], dtype=bool)
        self._slides = np.array([cell.joints[name].kind == "prismatic" for name in self.joints], dtype=bool)
        self._steps = np.array(
            [np.linalg.norm(model.jointPlacements[i + 1].translation) for i in range(len(self.joints))]
        )
        self._supports = [[int(k) - 1 for k in model.supports[i + 1]][1:] for i in range(len(self.joints))]
        objects = list(self._shapes.geometryObjects)
        self._parents = np.array([int(item.parentJoint) - 1 for item in objects], dtype=np.intp)
        self._own_radii = np.array(
            [
                np.linalg.norm(item.placement.act(middle)) + radius
                for item, middle, radius in zip(objects, self._middles, self.radii, strict=True)
            ]
        )

    def driven(self, joint: str) -> tuple[str, float, float]:
        """The joint that drives another in the end, with multiplier and offset; itself if it mimics none."""
        mimic = self.cell.joints[joint].mimic
        if not mimic:
            return joint, 1.0, 0.0
        leader, multiplier, offset = self.driven(mimic[0])
        return leader, mimic[1] * multiplier, mimic[1] * offset + mimic[2]

    def expansion(self, names: Sequence[str]) -> tuple[Floats, Floats]:
        """Matrix (joints, n) and offset (joints,) that turn values of n named joints into those of all joints; the
        others are as in the state of the cell."""
        matrix, base = np.zeros((len(self.joints), len(names))), np.zeros(len(self.joints))
        for row, joint in enumerate(self.joints):
            leader, multiplier, offset = self.driven(joint)
            if leader in names:
                matrix[row, list(names).index(leader)] = multiplier
                base[row] = offset
            else:
                base[row] = multiplier * self.cell.values[leader] + offset
        return matrix, base

    def configurations(self, values: Floats) -> Floats:
        """Joint values (n, joints) as configurations (n, nq) of Pinocchio: cosine and sine of continuous joints."""
        found = np.zeros((len(values), self._model.nq))
        found[:, self._index_q] = np.where(self._circular, np.cos(values), values)
        found[:, self._index_q[self._circular] + 1] = np.sin(values[:, self._circular])
        return found

    def place(self, q: Floats) -> None:
        """Place all geometries at a configuration (nq,)."""
        pin.updateGeometryPlacements(self._model, self._data, self._shapes, self._placed, q)

    def smallest_gap(self, names: Sequence[str], q: Floats) -> float:
        """The smallest distance of all pairs at values (n,) of named joints [m]; infinite if there is no pair."""
        matrix, base = self.expansion(names)
        self.place(self.configurations((matrix @ q + base)[None])[0])
        return min((self.gap(number) for number in range(len(self._pair_list))), default=math.inf)

    def sphere_gap(self, number: int) -> float:
        """Distance of the spheres around two geometries [m], where they are placed."""
        return self._apart(number) - self._radii_of_pairs[number]

    def _apart(self, number: int) -> float:
        i, j = self._pair_list[number]
        placed = self._placed.oMg
        return math.dist(placed[i].act(self._middles[i]), placed[j].act(self._middles[j]))

    def gap(self, number: int) -> float:
        """Distance of two geometries [m], negative for an overlap, where they are placed."""
        distance = float(pin.computeDistance(self._shapes, self._placed, number).min_distance)
        if distance > 0.0 or not self.has_skin[number]:
            return distance
        return self._depth_of_skins(number)

    def _depth_of_skins(self, number: int) -> float:
        """The deepest contact of triangles, whose distance does not include depths.

        Coal's depth of two triangles may be that of a motion in their plane: two skins that a motion of TOUCHING takes
        apart are no deeper than that.
        """
        i, j = self._pair_list[number]
        result = coal.CollisionResult()
        one, other = self._shapes.geometryObjects[i].geometry, self._shapes.geometryObjects[j].geometry
        poses = [coal.Transform3s(self._placed.oMg[k].rotation, self._placed.oMg[k].translation) for k in (i, j)]
        coal.collide(one, poses[0], other, poses[1], self._contacts, result)
        contacts = [result.getContact(k) for k in range(result.numContacts())]
        depth = min((contact.penetration_depth for contact in contacts), default=0.0)
        if depth < -TOUCHING and is_surface(one) and is_surface(other):
            for direction in directions_apart(one, poses[0], other, poses[1], contacts):
                moved = coal.Transform3s(poses[0].getRotation(), poses[0].getTranslation() + TOUCHING * direction)
                apart = coal.DistanceResult()
                if coal.distance(one, moved, other, poses[1], coal.DistanceRequest(), apart) > 0.0:
                    return -TOUCHING
        return depth

    def tolerance(self, number: int) -> float:
        """How far a pair may be below its margin [m]: the project's tolerance of contacts, and the error of coal on
        both sides of the comparison."""
        extent = self._apart(number) + self._radii_of_pairs[number]
        return TOUCHING + 2.0 * COAL * max(1.0, extent)

    def speeds(self, steps: Floats, farthest: Floats) -> Floats:
        """Bounds (pairs of geometries,) on how far two geometries move against each other while each joint moves by at
        most `steps` (joints,); `farthest` (joints,): largest absolute values of the joints, which matter for slides.

        A point is no farther from a joint's origin than the sum of the distances of the origins between, what slides
        are out, and the radius of its shape about the last origin. Joints that carry both do not count.
        """
        reaches = np.zeros((len(self._parents), len(self.joints)))
        out = self._steps + np.where(self._slides, farthest, 0.0)
        for row, (joint, radius) in enumerate(zip(self._parents.tolist(), self._own_radii.tolist(), strict=True)):
            if joint < 0:
                continue
            for support in reversed(self._supports[joint]):
                reaches[row, support] = 1.0 if self._slides[support] else radius
                radius += float(out[support])
        moved = reaches * steps
        common = (reaches[self.first] > 0.0) & (reaches[self.second] > 0.0)
        sums = np.where(common, 0.0, moved[self.first] + moved[self.second])
        return np.asarray(sums.sum(axis=1))


def _kinematic_urdf(cell: Description) -> str:
    """All joints of a cell as one URDF without shapes. Mimicking joints are free in it: `expansion` drives them."""
    parts = ['<robot name="cell">']
    parts += [f"<link name={quoteattr(name)}/>" for name in cell.links]
    for joint in cell.joints.values():
        roll, pitch, yaw = pin.rpy.matrixToRpy(joint.origin[:3, :3]).tolist()
        x, y, z = joint.origin[:3, 3].tolist()
        # Continuous, so that no limits are required.
        kind = "continuous" if joint.kind == "revolute" else joint.kind
        parts.append(
            f"<joint name={quoteattr(joint.name)} type={quoteattr(kind)}>"
            f"<parent link={quoteattr(joint.parent)}/><child link={quoteattr(joint.child)}/>"
            f'<origin xyz="{x!r} {y!r} {z!r}" rpy="{roll!r} {pitch!r} {yaw!r}"/>'
        )
        if joint.kind != "fixed":
            parts.append('<axis xyz="{} {} {}"/>'.format(*(repr(float(value)) for value in joint.axis)))
        if joint.kind == "prismatic":
            parts.append('<limit lower="-1e9" upper="1e9" velocity="1" effort="1"/>')
        parts.append("</joint>")
    return "".join([*parts, "</robot>"])
