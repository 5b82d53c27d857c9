"""Frames of an SDFormat document: scoped names, attachments and poses.

Specification: http://sdformat.org/tutorials?tut=pose_frame_semantics_proposal (SDFormat 1.7), composition (1.8),
merging (1.9). Attachments and poses form two graphs: `attached_to` is the frame that a frame moves with, `relative_to`
the frame that its pose is relative to.
"""

from __future__ import annotations

import re
from collections import ChainMap
from dataclasses import dataclass
from enum import Enum

from ...errors import DuplicateNameError, FileError
from ...model.frames import path_to_known
from ...model.name_suggestions import unknown_name
from ...model.placement import Placement, Placements
from ...model.pose import IDENTITY, Pose
from ...model.value import WORLD, check_name
from ..common.xml_reader import Element, XmlReader

SEPARATOR = "::"
MODEL_FRAME = "__model__"
RESERVED = re.compile(r"__.*__|world")


class SdfKind(Enum):
    LINK = "link"
    FRAME = "frame"
    JOINT = "joint"
    MODEL = "model"


@dataclass(frozen=True)
class Scope:
    """Scope of names: a model or the world.

    Attributes:
        prefix: Prefix of the full names in the scope.
        frame: Full name of the default frame, also named "__model__".
    """

    prefix: str = ""
    frame: str = WORLD


@dataclass(frozen=True)
class Reference:
    """Name as written in a document."""

    scope: Scope
    name: str
    xml: XmlReader
    element: Element

    def error(self, text: str, *names: str) -> FileError:
        return self.xml.error(self.element, text, self.name, *names)


@dataclass(frozen=True)
class SdfFrame:
    """Frame of a document.

    Attributes:
        relative_to, attached_to: A reference, or a full name if a rule of the specification defines it.
        placed_by: Frame of a model that the pose applies to, instead of the model's own frame.
    """

    kind: SdfKind
    pose: Pose
    relative_to: Reference | str
    attached_to: Reference | str
    placed_by: Reference | None = None


class SdfFrames:
    """All frames of a document by full name ("model::inner::link")."""

    def __init__(self) -> None:
        self.frames: dict[str, SdfFrame] = {}
        self._links = {WORLD}
        self._placements: Placements | None = None

    def add(
        self, scope: Scope, name: str, frame: SdfFrame, xml: XmlReader, element: Element, *, reserved: bool = True
    ) -> str:
        """Add a frame and return its full name.

        reserved: Refuse names like "world" and "__x__".

        Raises:
            FileError: The name is reserved.
            DuplicateNameError: The name is used twice in a scope.
        """
        if SEPARATOR in name or (reserved and RESERVED.fullmatch(name)):
            raise xml.error(element, f"has the name {name!r}, which is reserved", name)
        full = scope.prefix + name
        try:
            check_name(full, frame.kind.value)
        except ValueError as error:
            raise xml.error(element, f"is refused: {error}", name) from error
        if full in self.frames:
            double = xml.error(element, f"has the name {name!r}, which another one in the same scope has already", name)
            raise DuplicateNameError(double.message, stage=double.stage, subjects=double.subjects)
        self.frames[full] = frame
        if frame.kind is SdfKind.LINK:
            self._links.add(full)
        return full

    def find(self, reference: Reference, *, world: bool = False) -> str:
        """Return the full name of the frame that a reference names. `world`: allow a model to refer to the world.

        Raises:
            FileError: The frame does not exist in its scope.
        """
        scope, name = reference.scope, reference.name
        full = scope.prefix + name.removesuffix(SEPARATOR + MODEL_FRAME)
        if name == MODEL_FRAME and scope.frame != WORLD:
            return scope.frame
        if name == WORLD and full not in self.frames and (world or scope.frame == WORLD):
            return WORLD
        if full not in self.frames:
            here = [other[len(scope.prefix) :] for other in self.frames if other.startswith(scope.prefix)]
            raise reference.error(f"names a frame: {unknown_name(repr(name), name, here)}")
        return full

    def _full(self, target: Reference | str) -> str:
        return target if isinstance(target, str) else self.find(target)

    def link_of(self, name: str) -> str:
        """Return the full name of the link, or "world", that a frame is attached to directly or indirectly.

        Raises:
            FileError: A frame is attached to a frame that does not exist.
            FrameCycleError: Attachments form a cycle.
        """
        return path_to_known(name, self._links, lambda frame: self._full(self.frames[frame].attached_to))[1]

    @property
    def placements(self) -> Placements:
        """Return the placements of all frames.

        Raises:
            FileError: A pose is relative to a frame that does not exist.
            FrameCycleError: Poses are relative to each other.
        """
        if self._placements is None:
            table = {name: (self._full(frame.relative_to), frame.pose) for name, frame in self.frames.items()}
            # Inner models first, because the pose of an outer model may apply to a frame of an inner one.
            for name in sorted(self.frames, key=lambda name: -name.count(SEPARATOR)):
                placed_by = self.frames[name].placed_by
                if placed_by is not None:
                    table[name] = self._placed_by(name, self.find(placed_by), table)
            self._placements = Placements(table)
        return self._placements

    def _placed_by(self, model: str, frame: str, table: dict[str, Placement]) -> Placement:
        """Return the placement of a model whose pose applies to one of its frames: X_RM = X_RF inverse(X_MF)."""
        inside = Placements(ChainMap({model: (WORLD, IDENTITY)}, table))
        parent, pose = table[model]
        return parent, pose @ inside.world(frame).inverse()
