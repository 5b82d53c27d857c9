"""Conversion of SDFormat contents to bodies and named frames."""

from __future__ import annotations

from collections.abc import Callable

from frozendict import frozendict

from ...errors import FileError, GeometryError, LimitExceededError, NotSupportedError, ResourceError
from ...model.bodies import NamedFrame, RigidBody
from ...model.cell import RobotCell
from ...model.geometry import Mesh, MeshUse, Shape
from ...model.mechanism import Inertial
from ...model.pose import Pose
from ...model.state import BodyState, RobotCellState
from ...model.value import WORLD
from ..common.resources import ResourceRoots
from ..common.xml_reader import Element
from ..mesh.inertia import sum_of_inertials, uniform_inertial
from ..mesh.loading import check_collision_geometry, check_visual_mesh
from ..sdformat.document import SdfContents, SdfFile, SdfLink, read_pose
from ..sdformat.frames import Reference, SdfKind
from ..sdformat.shapes import placed, read_colour, read_geometry, read_inertial
from .imported import Imported

DEFAULT_DENSITY = 1000.0  # [kg/m3] default of the specification


class SdfBuilder:
    """Converts the contents of documents to bodies and named frames."""

    def __init__(self, contents: SdfContents, roots: ResourceRoots, mesh_use: MeshUse) -> None:
        self.contents = contents
        self.frames = contents.frames
        self.roots = roots
        self.mesh_use = mesh_use
        self.bodies: dict[str, RigidBody] = {}
        self.named: dict[str, NamedFrame] = {}
        self.states: dict[str, BodyState] = {}

    def imported(self, name: str) -> Imported:
        parents = self._parents_of_models()
        for link in self.contents.links:
            self._add_link(link, parents.get(link, WORLD))
        for frame, found in self.frames.frames.items():
            if found.kind in (SdfKind.FRAME, SdfKind.MODEL):
                body = self.frames.link_of(frame)
                self.named[frame] = NamedFrame(frame, body, self._pose(body, frame))
        self._let_touch()
        cell = RobotCell(name=name, bodies=frozendict(self.bodies), frames=frozendict(self.named))
        state = RobotCellState(bodies=frozendict(self.states))
        cell.check_state(state)
        return Imported(cell, state, self.contents.left_out_lines(), self.contents.warnings())

    def _parents_of_models(self) -> dict[str, str]:
        """Return the parent link of each link that is the child of a joint; further joints with the same child are
        ignored."""
        parents: dict[str, str] = {}
        for joint in self.contents.joints.values():
            child = self.frames.link_of(self.frames.find(joint.child))
            parent = self.frames.link_of(self.frames.find(joint.parent, world=True))
            if child == WORLD:
                raise joint.child.error("is the world, expected a link")
            if child == parent:
                raise joint.child.error(f"is attached to {child}, like the parent of the same joint")
            if parents.setdefault(child, parent) != parent:
                self.contents.left_out["joint that closes a loop"] += 1
            elif joint.kind != "fixed":
                self.contents.left_out[f"motion of {joint.kind} joint"] += 1
        return parents

    def _pose(self, parent_frame: str, frame: str) -> Pose:
        """Return parent_T_frame, with the exact numbers of the file if it specifies this pose directly."""
        parent, pose = self.frames.placements.placements[frame]
        return pose if parent == parent_frame else self.frames.placements.between(parent_frame, frame)

    def _add_link(self, name: str, parent_frame: str) -> None:
        link = self.contents.links[name]
        pose = self._pose(parent_frame, name)
        collisions = self._shapes(name, link, "collision", self._collision)
        visuals = self._shapes(name, link, "visual", self._visual)
        try:
            if not (collisions or visuals):
                self.named[name] = NamedFrame(name, parent_frame, pose)
                return
            self.bodies[name] = RigidBody(name, collisions, visuals, self._inertial(link, collisions))
        except ValueError as error:
            raise link.file.xml.error(link.element, f"is refused: {error}") from error
        self.states[name] = BodyState(pose, "" if parent_frame == WORLD else parent_frame)

    def _shapes(
        self, name: str, link: SdfLink, kind: str, read: Callable[[SdfFile, Element, Pose], Shape | None]
    ) -> tuple[Shape, ...]:
        shapes = []
        for element in link.element.iterchildren(kind):
            pose, relative_to = read_pose(link.file, element)
            if relative_to:
                frame = self.frames.find(Reference(link.scope, relative_to, link.file.xml, element))
                pose = self.frames.placements.between(name, frame) @ pose
            shapes.append(read(link.file, element, pose))
        return tuple(shape for shape in shapes if shape is not None)

    def _collision(self, file: SdfFile, element: Element, pose: Pose) -> Shape | None:
        geometry = file.xml.required_child(element, "geometry")
        found = read_geometry(file.xml, geometry, file.folder, self.roots, self.mesh_use)
        if found is not None:
            try:
                check_collision_geometry(found[0])
            except (GeometryError, FileError, LimitExceededError) as error:
                raise placed(error, file.xml, geometry) from error
        return None if found is None else Shape(found[0], pose @ found[1], file.xml.attribute(element, "name", ""))

    def _visual(self, file: SdfFile, element: Element, pose: Pose) -> Shape | None:
        geometry = file.xml.required_child(element, "geometry")
        try:
            found = read_geometry(file.xml, geometry, file.folder, self.roots, MeshUse.EXACT)
            if found is not None and isinstance(found[0], Mesh):
                check_visual_mesh(found[0])
        except NotSupportedError:
            self.contents.left_out["visual of a shape that has no counterpart"] += 1
            return None
        except (ResourceError, GeometryError, LimitExceededError) as error:
            file.xml.defects.note(error, "the mesh is not shown")
            return None
        if found is None:
            return None
        name, colour = file.xml.attribute(element, "name", ""), read_colour(file.xml, element)
        return Shape(found[0], pose @ found[1], name, colour)

    def _inertial(self, link: SdfLink, collisions: tuple[Shape, ...]) -> Inertial | None:
        element = link.file.xml.child(link.element, "inertial")
        if element is None:
            return None
        if link.file.xml.attribute(element, "auto", "false") in ("true", "1"):
            return self._automatic_inertial(link, element, collisions)
        pose, _ = read_pose(link.file, element)
        return read_inertial(link.file.xml, element, pose)

    def _automatic_inertial(self, link: SdfLink, inertial: Element, collisions: tuple[Shape, ...]) -> Inertial | None:
        """Compute the inertial from the volumes of the collisions, with their own densities or that of the link."""
        xml = link.file.xml
        usual = float(xml.text_of_child(inertial, "density", str(DEFAULT_DENSITY)))
        parts = []
        elements = [e for e in link.element.iterchildren("collision") if e.find("geometry/empty") is None]
        for element, shape in zip(elements, collisions, strict=True):
            density = xml.child(element, "density")
            parts.append(uniform_inertial([shape], usual if density is None else xml.text_numbers(density, 1)[0]))
        return sum_of_inertials(parts)

    def _let_touch(self) -> None:
        for group in self.contents.groups:
            bodies = [name for name in group if name in self.bodies]
            for name in bodies:
                others = tuple(other for other in bodies if other != name)
                self.states[name] = BodyState(self.states[name].pose, self.states[name].attached_to, (), others)
