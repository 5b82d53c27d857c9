"""Reader of MoveIt .scene files: text files of objects with shapes, colours and subframes.

Both versions are supported: the current one, with a pose for each object and subframes after its shapes, and the one
before MoveIt 1.1, without these.
"""

from __future__ import annotations

import math

from frozendict import frozendict

from ...errors import FileError
from ...model.bodies import NamedFrame, RigidBody
from ...model.cell import RobotCell
from ...model.geometry import Box, Cone, Cylinder, Geometry, MeshUse, Rgba, Shape, Sphere, Triangles
from ...model.pose import IDENTITY, Pose
from ...model.state import BodyState, RobotCellState
from ..common.resources import check_text_length
from .imported import Imported

STAGE = "read scene"
MAX_COUNT = 4_000_000


def read_moveit_scene(text: str, source: str = "scene") -> Imported:
    """Read the bodies of a scene with their poses. A subframe "s" of object "o" becomes the named frame "o/s".

    Meshes are checked for collision with their triangles, as in MoveIt. A colour of four zeros means no colour.

    Raises:
        FileError: The text is malformed (the message gives file, line and what was expected), or contains a plane,
            which is unbounded.
        LimitExceededError: The text is too long.
        DuplicateNameError: An object or subframe name is used twice.
    """
    check_text_length(text, source, STAGE)
    return _Reader(text, source).scene()


class _Reader:
    """Parser of the lines of the text and of the words of the current line."""

    def __init__(self, text: str, source: str) -> None:
        self.lines = text.splitlines()
        self.source = source
        self.row = 0
        self.words: list[str] = []
        self.bodies: dict[str, RigidBody] = {}
        self.states: dict[str, BodyState] = {}
        self.frames: dict[str, NamedFrame] = {}

    def error(self, text: str) -> FileError:
        return FileError(f"{self.source}:{max(self.row, 1)}: {text}", stage=STAGE, subjects=(self.source,))

    def line(self, what: str) -> str:
        """Return the next line."""
        if self.row >= len(self.lines):
            raise self.error(f"ends where {what} was expected")
        self.row += 1
        self.words = []
        return self.lines[self.row - 1].strip()

    def word(self, what: str) -> str:
        while not self.words:
            self.words = self.line(what).split()[::-1]
        return self.words.pop()

    def number(self, what: str) -> float:
        word = self.word(what)
        try:
            value = float(word)
        except ValueError as error:
            raise self.error(f"has {word[:40]!r}, expected {what}") from error
        if not math.isfinite(value) or "_" in word:
            raise self.error(f"has {word[:40]!r}, expected {what} as a finite number")
        return value

    def count(self, what: str) -> int:
        word = self.word(what)
        if not (word.isascii() and word.isdigit() and len(word) < 10 and int(word) <= MAX_COUNT):
            raise self.error(f"has {word[:40]!r}, expected {what}, at most {MAX_COUNT}")
        return int(word)

    def pose(self) -> Pose:
        x, y, z = (self.number("a position") for _ in range(3))
        qx, qy, qz, qw = (self.number("a quaternion x, y, z, w") for _ in range(4))
        try:
            return Pose((x, y, z), (qx, qy, qz, qw))
        except ValueError as error:
            raise self.error(str(error)) from error

    def scene(self) -> Imported:
        name = self.line("the name of the scene")
        with_poses = self._has_object_poses()
        while True:
            marker = self.word('"*" before an object or "." at the end')
            if marker == ".":
                break
            if marker != "*":
                raise self.error(f'has {marker[:40]!r}, expected "*" before an object or "." at the end')
            self._object(" ".join(self.words[::-1]), with_poses)
        cell = RobotCell(name=name or "cell", bodies=frozendict(self.bodies), frames=frozendict(self.frames))
        return Imported(cell, RobotCellState(bodies=frozendict(self.states)))

    def _has_object_poses(self) -> bool:
        """Return whether the line after the first object's name contains several numbers: a position, not a count of
        shapes."""
        for row, line in enumerate(self.lines[self.row :], self.row):
            if line.startswith("*"):
                following = next((text for text in self.lines[row + 1 :] if text.strip()), "")
                return len(following.split()) > 1
        return True

    def _object(self, name: str, with_poses: bool) -> None:
        self.words = []
        if name in self.bodies:
            raise self.error(f"has a second object {name!r}")
        pose = self.pose() if with_poses else IDENTITY
        shapes = tuple(self._shape() for _ in range(self.count("a number of shapes")))
        try:
            self.bodies[name] = RigidBody(name, shapes)
        except ValueError as error:
            raise self.error(str(error)) from error
        self.states[name] = BodyState(pose)
        for _ in range(self.count("a number of subframes") if with_poses else 0):
            frame = f"{name}/{self.word('the name of a subframe')}"
            if frame in self.frames:
                raise self.error(f"has a second subframe {frame!r}")
            try:
                self.frames[frame] = NamedFrame(frame, name, self.pose())
            except ValueError as error:
                raise self.error(str(error)) from error

    def _shape(self) -> Shape:
        geometry = self._geometry()
        pose = self.pose()
        try:
            red, green, blue, alpha = (self.number("a colour") for _ in range(4))
            rgba: Rgba | None = (red, green, blue, alpha) if any((red, green, blue, alpha)) else None
            return Shape(geometry, pose, rgba=rgba)
        except ValueError as error:
            raise self.error(str(error)) from error

    def _geometry(self) -> Geometry:
        try:
            return self._form(self.word("a shape"))
        except ValueError as error:
            raise self.error(str(error)) from error

    def _form(self, kind: str) -> Geometry:
        if kind == "box":
            return Box((self.number("x"), self.number("y"), self.number("z")))
        if kind == "sphere":
            return Sphere(self.number("a radius"))
        if kind == "cylinder":
            return Cylinder(self.number("a radius"), self.number("a length"))
        if kind == "cone":
            return Cone(self.number("a radius"), self.number("a length"))
        if kind == "mesh":
            vertices, faces = self.count("a number of vertices"), self.count("a number of triangles")
            points = tuple((self.number("x"), self.number("y"), self.number("z")) for _ in range(vertices))
            corners = tuple(
                (self.count("an index"), self.count("an index"), self.count("an index")) for _ in range(faces)
            )
            return Triangles(points, corners, MeshUse.EXACT)
        raise self.error(f"has the shape {kind[:40]!r}, expected box, sphere, cylinder, cone or mesh")
