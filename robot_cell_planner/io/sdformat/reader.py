"""Traversal of SDFormat documents: worlds, models, nested models and included files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ...errors import LimitExceededError, RobotCellError
from ...model.value import WORLD
from ..common.resources import ResourceRoots, read_text, resolve
from ..common.xml_reader import Element, XmlReader, tag
from .document import (
    RESERVED_SINCE,
    STAGE,
    VERSIONS,
    SdfContents,
    SdfFile,
    SdfJoint,
    SdfLink,
    not_supported,
    read_pose,
    read_root,
)
from .frames import MODEL_FRAME, SEPARATOR, Reference, Scope, SdfFrame, SdfKind
from .shapes import placed

MAX_INCLUDES = 2_000
MAX_DEPTH = 32
# Common elements that are ignored without a message; other unknown elements are reported in `left_out`.
SILENT = frozenset(("static", "self_collide", "allow_auto_disable", "enable_wind", "gravity", "pose", "meta"))


class SdfReader:
    """Collects the frames, links and joints of a document and its included files in `contents`."""

    def __init__(self, roots: ResourceRoots) -> None:
        self.roots = roots
        self.contents = SdfContents()

    def document(self, root: Element, file: SdfFile) -> str:
        """Read a document; return the name of its world or first model."""
        worlds = list(root.iterchildren("world"))
        if len(worlds) > 1:
            raise not_supported(file, worlds[1], "is a second world, expected one")
        parent = worlds[0] if worlds else root
        if not worlds and root.find("model") is None:
            raise file.xml.error(root, "holds neither a world nor a model")
        self._children(parent, file, Scope(), 0)
        return file.xml.attribute(worlds[0] if worlds else next(root.iterchildren("model")), "name")

    def _children(self, parent: Element, file: SdfFile, scope: Scope, depth: int) -> str:
        """Read the content of a model or world; return the full name of its first link, or else of its first nested
        model's."""
        if depth >= MAX_DEPTH:
            raise LimitExceededError(f"{file.xml.source} nests more than {MAX_DEPTH} models", stage=STAGE)
        links: list[str] = []
        inner: list[str] = []
        for element in parent.iterchildren():
            if element.tag == "link" and scope.frame != WORLD:
                links.append(self._link(element, file, scope))
            elif element.tag == "model":
                inner.append(self._model(element, file, scope, depth))
            elif element.tag == "include":
                merged, first = self._include(element, file, scope, depth)
                (links if merged else inner).append(first)
            elif element.tag == "frame":
                self._frame(element, file, scope)
            elif element.tag == "joint":
                self._joint(element, file, scope)
            elif element.tag not in SILENT:
                self.contents.left_out[tag(element)] += 1
        return next(filter(None, (*links, *inner)), "")

    def _add(self, scope: Scope, name: str, frame: SdfFrame, file: SdfFile, element: Element) -> str:
        reserved = file.version >= RESERVED_SINCE
        return self.contents.frames.add(scope, name, frame, file.xml, element, reserved=reserved)

    def _reference(self, scope: Scope, name: str, file: SdfFile, element: Element) -> Reference | str:
        return Reference(scope, name, file.xml, element) if name else scope.frame

    def _link(self, element: Element, file: SdfFile, scope: Scope) -> str:
        pose, relative_to = read_pose(file, element)
        frame = SdfFrame(SdfKind.LINK, pose, self._reference(scope, relative_to, file, element), "")
        name = self._add(scope, file.xml.attribute(element, "name"), frame, file, element)
        self.contents.links[name] = SdfLink(element, file, scope)
        return name

    def _frame(self, element: Element, file: SdfFile, scope: Scope) -> None:
        pose, relative_to = read_pose(file, element)
        attached_to = file.xml.attribute(element, "attached_to", "")
        frame = SdfFrame(
            SdfKind.FRAME,
            pose,
            self._reference(scope, relative_to or attached_to, file, element),
            self._reference(scope, attached_to, file, element),
        )
        self._add(scope, file.xml.attribute(element, "name"), frame, file, element)

    def _joint(self, element: Element, file: SdfFile, scope: Scope) -> None:
        parent, child = (self._joint_end(element, name, file, scope) for name in ("parent", "child"))
        pose, relative_to = read_pose(file, element)
        frame = SdfFrame(SdfKind.JOINT, pose, self._reference(scope, relative_to, file, element), child)
        if not relative_to:
            frame = replace(frame, relative_to=child)
        name = self._add(scope, file.xml.attribute(element, "name"), frame, file, element)
        self.contents.joints[name] = SdfJoint(file.xml.attribute(element, "type"), parent, child)

    def _joint_end(self, joint: Element, name: str, file: SdfFile, scope: Scope) -> Reference:
        end = file.xml.required_child(joint, name)
        return Reference(scope, file.xml.text(end), file.xml, end)

    def _model(self, element: Element, file: SdfFile, scope: Scope, depth: int) -> str:
        pose, relative_to = read_pose(file, element)
        reference = self._reference(scope, relative_to, file, element)
        name = file.xml.attribute(element, "name")
        return self._model_at(element, file, scope, name, SdfFrame(SdfKind.MODEL, pose, reference, WORLD), depth)

    def _model_at(
        self, element: Element, file: SdfFile, scope: Scope, name: str, frame: SdfFrame, depth: int, placed_by: str = ""
    ) -> str:
        """Read a model whose frame is given; return the full name of its canonical link, or "" without one."""
        frames = self.contents.frames
        full = self._add(scope, name, frame, file, element)
        inner = Scope(full + SEPARATOR, full)
        known = len(self.contents.links)
        first = self._children(element, file, inner, depth + 1)
        if scope.frame == WORLD and file.xml.text_of_child(element, "self_collide", "false") not in ("true", "1"):
            self.contents.groups.append(list(self.contents.links)[known:])
        attached_to: Reference | str = first or WORLD
        if chosen := file.xml.attribute(element, "canonical_link", ""):
            attached_to = Reference(inner, chosen, file.xml, element)
        placed_by = placed_by or file.xml.attribute(element, "placement_frame", "")
        by = Reference(inner, placed_by, file.xml, element) if placed_by else None
        frames.frames[full] = replace(frame, attached_to=attached_to, placed_by=by)
        return frames.link_of(full) if first else ""

    def _include(self, element: Element, file: SdfFile, scope: Scope, depth: int) -> tuple[bool, str]:
        """Read an included model; return whether it was merged, and its canonical link."""
        for child in element.iterchildren():
            if child.tag not in ("uri", "name", "pose", "placement_frame", "static", "plugin"):
                raise not_supported(file, child, "inside an <include> is not read")
        model, included = self._included(element, file)
        name = file.xml.text_of_child(element, "name", "") or included.xml.attribute(model, "name")
        pose, relative_to = read_pose(included, model)
        if relative_to:
            raise included.xml.error(
                model, f"has a pose relative to {relative_to!r}, which a file of its own cannot know"
            )
        reference: Reference | str = scope.frame
        if file.xml.child(element, "pose") is not None:
            pose, relative_to = read_pose(file, element)
            reference = self._reference(scope, relative_to, file, element)
        frame = SdfFrame(SdfKind.MODEL, pose, reference, WORLD)
        placed_by = file.xml.text_of_child(element, "placement_frame", "")
        if placed_by and file.xml.child(element, "pose") is None:
            raise file.xml.error(element, "has a <placement_frame> but no <pose> for it")
        if file.xml.attribute(element, "merge", "false") in ("true", "1"):
            return True, self._merge(model, included, scope, name, frame, depth, placed_by)
        return False, self._model_at(model, included, scope, name, frame, depth, placed_by)

    def _merge(
        self, model: Element, file: SdfFile, scope: Scope, name: str, frame: SdfFrame, depth: int, placed_by: str
    ) -> str:
        """Read the content of a model into the including scope; a frame represents the model's own frame."""
        if scope.frame == WORLD:
            raise not_supported(file, model, "is merged into a world, expected a model around it")
        frames = self.contents.frames
        proxy = self._add(scope, f"_merged__{name}{MODEL_FRAME}", frame, file, model)
        inner = Scope(scope.prefix, proxy)
        first = self._children(model, file, inner, depth + 1)
        placed_by = placed_by or file.xml.attribute(model, "placement_frame", "")
        by = Reference(inner, placed_by, file.xml, model) if placed_by else None
        frames.frames[proxy] = replace(frame, attached_to=first or scope.frame, placed_by=by)
        return first

    def _included(self, include: Element, file: SdfFile) -> tuple[Element, SdfFile]:
        """Return the model that an <include> refers to, and its file."""
        self.contents.includes += 1
        if self.contents.includes > MAX_INCLUDES:
            raise LimitExceededError(f"{file.xml.source} includes more than {MAX_INCLUDES} models", stage=STAGE)
        uri = file.xml.required_child(include, "uri")
        try:
            path = self._path(file.xml.text(uri), file.folder)
            if os.path.isdir(path):
                path = self._file_of_folder(path)
            text = read_text(path, STAGE, self.roots.text_bytes, file.xml.defects)
            root, included = read_root(XmlReader(str(path), STAGE, file.xml.defects), str(path.parent), text)
        except RobotCellError as error:
            raise placed(error, file.xml, uri) from error
        models = list(root.iterchildren("model"))
        if len(models) != 1:
            raise file.xml.error(uri, f"resolves to {path}, which holds {len(models)} models, expected one")
        return models[0], included

    def _path(self, uri: str, folder: str) -> Path:
        if "://" in uri:
            return resolve(uri, folder, self.roots)
        beside = os.path.exists(Path(folder, uri))
        return resolve(uri if beside else f"model://{uri}", folder, self.roots)

    def _file_of_folder(self, folder: Path) -> Path:
        """Return the newest readable file in the manifest of a model folder."""
        xml = XmlReader(str(folder / "model.config"), STAGE)
        root = xml.parse(read_text(folder / "model.config", STAGE, self.roots.text_bytes))
        files = {file.get("version", VERSIONS[0]): file for file in root.iterchildren("sdf")}
        for version in reversed(VERSIONS):
            if version in files:
                return resolve(xml.text(files[version]), folder, self.roots)
        raise xml.error(root, f"lists no <sdf> of version {VERSIONS[0]} to {VERSIONS[-1]}")
