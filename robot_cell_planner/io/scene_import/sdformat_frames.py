"""The frames of an SDFormat document: names in scopes, what they are attached to, and where they are.

Rules: http://sdformat.org/tutorials?tut=pose_frame_semantics_proposal (SDFormat 1.7), composition (1.8), merging (1.9).
Attachment and placement are two graphs: `attached_to` says which link carries a frame, `relative_to` in which frame its
pose is written.
"""

from __future__ import annotations

import re
from collections import ChainMap
from dataclasses import dataclass
from enum import Enum

from ...errors import DuplicateNameError, FileError, FrameCycleError
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
    """Where names are looked up: a model, or the world. prefix: of the full names in it. frame: full name of the frame
    that is meant where none is given, and by "__model__"."""

    prefix: str = ""
    frame: str = WORLD


@dataclass(frozen=True)
class Reference:
    """A name as it is written somewhere."""

    scope: Scope
    name: str
    xml: XmlReader
    element: Element

    def error(self, text: str, *names: str) -> FileError:
        return self.xml.error(self.element, text, self.name, *names)


@dataclass(frozen=True)
class SdfFrame:
    """A frame; relative_to, attached_to: a reference, or a full name where a rule gives it. placed_by: the frame of a
    model that its pose is meant for, instead of its own."""

    kind: SdfKind
    pose: Pose
    relative_to: Reference | str
    attached_to: Reference | str
    placed_by: Reference | None = None


class SdfFrames:
    """All frames of a document by their full names ("model::inner::link")."""

    def __init__(self) -> None:
        self.frames: dict[str, SdfFrame] = {}
        self._placements: Placements | None = None

    def add(
        self, scope: Scope, name: str, frame: SdfFrame, xml: XmlReader, element: Element, *, reserved: bool = True
    ) -> str:
        """The full name under which a frame is added. reserved: names like "world" and "__x__" are refused.

        Raises:
            FileError: a reserved name.
            DuplicateNameError: a name twice in a scope.
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
        return full

    def find(self, reference: Reference, *, world: bool = False) -> str:
        """Full name of the frame that a reference names. world: a model may name the world here.

        Raises:
            FileError: there is no such frame in its scope.
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
        """Full name of the link, or "world", that a frame is attached to in the end.

        Raises:
            FileError: an attachment to a frame that does not exist.
            FrameCycleError: attachments form a loop.
        """
        trail = [name]
        while name != WORLD and self.frames[name].kind is not SdfKind.LINK:
            name = self._full(self.frames[name].attached_to)
            if name in trail:
                loop = (*trail[trail.index(name) :], name)
                raise FrameCycleError(f"attachments form a loop: {' -> '.join(loop)}", subjects=loop)
            trail.append(name)
        return name

    @property
    def placements(self) -> Placements:
        """Where all frames are.

        Raises:
            FileError: a pose relative to a frame that does not exist.
            FrameCycleError: poses relative to one another.
        """
        if self._placements is None:
            table = {name: (self._full(frame.relative_to), frame.pose) for name, frame in self.frames.items()}
            # Inner models come first, since those around them may be placed by a frame inside of them.
            for name in sorted(self.frames, key=lambda name: -name.count(SEPARATOR)):
                placed_by = self.frames[name].placed_by
                if placed_by is not None:
                    table[name] = self._placed_by(name, self.find(placed_by), table)
            self._placements = Placements(table)
        return self._placements

    def _placed_by(self, model: str, frame: str, table: dict[str, Placement]) -> Placement:
        """Placement of a model whose pose is that of one of its frames: X_RM = X_RF inverse(X_MF)."""
        inside = Placements(ChainMap({model: (WORLD, IDENTITY)}, table))
        parent, pose = table[model]
        return parent, pose @ inside.world(frame).inverse()
