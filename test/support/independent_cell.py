"""Robots of a cell as Pinocchio reads their URDF, in one model with coal shapes: a reference that shares no code with
the planner's kinematics and collision checks."""

from __future__ import annotations

from itertools import pairwise

import coal
import numpy as np
import pinocchio as pin
from lxml import etree

from robot_cell_planner.model.geometry import Box, Cylinder

NAMED = {"link": "name", "joint": "name", "parent": "link", "child": "link", "mimic": "joint"}


def prefixed_urdf(mechanism_file, prefix):
    """The URDF of an expanded xacro file with a prefix before all names."""
    root = etree.fromstring(mechanism_file.encode())
    for element in root.iter(*NAMED):
        attribute = NAMED[element.tag]
        if element.get(attribute) is not None:
            element.set(attribute, prefix + element.get(attribute))
    return etree.tostring(root).decode()


def pin_model(xml):
    model = pin.buildModelFromXML(xml)
    return model, pin.buildGeomFromUrdfString(model, xml, pin.GeometryType.COLLISION)


def se3(pose):
    return pin.SE3(pose.matrix)


class IndependentCell:
    """Robots, their tools and bodies of a cell.

    robots: (urdf, base pose); tools: (urdf, frame, pose); bodies: (body, frame or "", pose); touching: pairs of links
    or bodies that are not checked.
    """

    def __init__(self, robots, tools, bodies, touching=()):
        self.model, self.geometries = pin.Model(), pin.GeometryModel()
        for xml, frame, pose in [*((xml, "", pose) for xml, pose in robots), *tools]:
            at = self.model.getFrameId(frame) if frame else 0
            added = pin_model(xml)
            self.model, self.geometries = pin.appendModel(
                self.model, added[0], self.geometries, added[1], at, se3(pose)
            )
        for body, frame, pose in bodies:
            for index, shape in enumerate(body.collisions):
                self._add(f"{body.name}|{index}", shape, frame, se3(pose) * se3(shape.pose))
        self._add_pairs(set(map(frozenset, touching)))
        self.data, self.geometry_data = self.model.createData(), self.geometries.createData()

    def _add(self, name, shape, frame, placement):
        solid = shape.geometry
        if isinstance(solid, Box):
            geometry = coal.Box(*solid.size)
        else:
            assert isinstance(solid, Cylinder)
            geometry = coal.Cylinder(solid.radius, solid.length)
        joint = 0
        if frame:
            at = self.model.frames[self.model.getFrameId(frame)]
            joint, placement = at.parentJoint, at.placement * placement
        self.geometries.addGeometryObject(pin.GeometryObject(name, joint, placement, geometry))

    def link_or_body(self, index):
        name = self.geometries.geometryObjects[index].name
        return name.partition("|")[0] if "|" in name else name.rpartition("_")[0]

    def _add_pairs(self, touching):
        """Pairs of different models: a robot with its tool, or a body."""
        objects = self.geometries.geometryObjects
        for first in range(len(objects)):
            for second in range(first + 1, len(objects)):
                names = self.link_or_body(first), self.link_or_body(second)
                if self.model_of(names[0]) != self.model_of(names[1]) and frozenset(names) not in touching:
                    self.geometries.addCollisionPair(pin.CollisionPair(first, second))

    @staticmethod
    def model_of(link_or_body):
        """The robot that a link belongs to, by its prefix, or else the name itself."""
        return link_or_body.split("/")[0]

    def configuration(self, values):
        q = pin.neutral(self.model)
        for name, value in values.items():
            q[self.model.joints[self.model.getJointId(name)].idx_q] = value
        return q

    def collisions(self, values):
        """Names of the pairs that collide."""
        q = self.configuration(values)
        if not pin.computeCollisions(self.model, self.data, self.geometries, self.geometry_data, q, False):
            return []
        pairs = self.geometries.collisionPairs
        hit = [i for i, result in enumerate(self.geometry_data.collisionResults) if result.isCollision()]
        return [(self.link_or_body(pairs[i].first), self.link_or_body(pairs[i].second)) for i in hit]


def dense(path, step):
    """Points on a path (n, dof) at most `step` apart in every joint."""
    rows = [path[:1]]
    for begin, end in pairwise(path):
        count = max(1, int(np.ceil(np.abs(end - begin).max() / step)))
        rows.append(begin + np.linspace(0.0, 1.0, count + 1)[1:, None] * (end - begin))
    return np.concatenate(rows)
